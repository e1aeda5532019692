#include "index_tools/evaluation/qrels.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kQrelsFormats =
    "use TREC lines (qid iteration docno grade), SMART lines (qid docno grade), NPL records or JSON lines";

using Lines = std::vector<std::pair<std::int64_t, std::string>>;

bool is_zero(std::string_view field) {
  double value = 1;
  return parse_number(field, value) && value == 0;
}

// SMART's four columns, such as CACM's "01 1410  0 0". Read as TREC, they would judge document 0 repeatedly.
bool is_smart(const Lines& lines) {
  bool numbered = false;
  for (const auto& [number, line] : lines) {
    const auto fields = split_fields(line);
    if (fields.size() != 4) continue;
    if (fields[2] != "0" || !is_zero(fields[3])) return false;
    numbered = numbered || (!is_zero(fields[1]) && fields[1] != "Q0");
  }
  return numbered;
}

// "0046" is document 46 of its collection.
std::string_view without_leading_zeros(std::string_view field) {
  const bool digits = std::all_of(field.begin(), field.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) field.remove_prefix(std::min(field.find_first_not_of('0'), field.size() - 1));
  return field;
}

struct Reader {
  const std::filesystem::path& file;
  JudgmentFile result = {};
  bool form_known = false;
  bool weighted = false;  // SMART's four columns; the last two are ignored
  std::string npl_query = {};
  std::unordered_map<std::string, std::unordered_set<std::string>> seen = {};

  void read(const Lines& lines) {
    for (const auto& [number, line] : lines) {
      const auto fields = split_fields(line);
      if (fields.empty()) continue;
      if (!form_known) {
        result.format = form_of(lines, line, fields, number);
        form_known = true;
        if (result.format == QrelsFormat::beir) continue;  // its header
      }
      if (result.format == QrelsFormat::jsonl) {
        json(line, number);
      } else if (result.format == QrelsFormat::npl) {
        npl(fields, number);
      } else {
        columns(fields, number);
      }
    }
  }

  void columns(const std::vector<std::string_view>& fields, std::int64_t number) {
    const bool trec = result.format == QrelsFormat::trec;
    const std::size_t count = trec || weighted ? 4 : 3;
    if (fields.size() != count) {
      bad_line(file, number, fmt::format("has {} columns, but the first line has {}", fields.size(), count),
               kQrelsFormats);
    }
    if (weighted) return add(without_leading_zeros(fields[0]), "0", without_leading_zeros(fields[1]), 1, number);
    std::int64_t grade = 0;
    if (!parse_whole_number(fields.back(), grade)) {
      bad_line(file, number, fmt::format("the grade {} is not a whole number", excerpt(fields.back())), kQrelsFormats);
    }
    add(fields[0], trec ? fields[1] : "0", trec ? fields[2] : fields[1], grade, number);
  }

  void npl(const std::vector<std::string_view>& fields, std::int64_t number) {
    if (fields.size() == 1 && fields[0] == "/") {
      npl_query.clear();
    } else if (!npl_query.empty()) {
      for (const std::string_view docno : fields) add(npl_query, "0", docno, 1, number);
    } else if (fields.size() == 1) {
      npl_query = fields[0];
    } else {
      bad_line(file, number, fmt::format("has {} columns where a query number is expected", fields.size()),
               "end each query's documents with a line \"/\"");
    }
  }

  QrelsFormat form_of(const Lines& lines, const std::string& text, const std::vector<std::string_view>& fields,
                      std::int64_t number) {
    if (fields[0].starts_with("{")) return QrelsFormat::jsonl;
    const auto ends_record = [](const auto& line) { return trim(line.second) == "/"; };
    if (fields.size() == 1 && std::any_of(lines.begin(), lines.end(), ends_record)) return QrelsFormat::npl;
    if (fields.size() == 4) {
      std::int64_t grade = 0;
      double weight = 0;
      weighted = (!parse_whole_number(fields[3], grade) && parse_number(fields[3], weight) && fields[2] == "0") ||
                 is_smart(lines);
      return weighted ? QrelsFormat::smart : QrelsFormat::trec;
    }
    if (fields.size() == 3) return fields[2] == "score" ? QrelsFormat::beir : QrelsFormat::smart;
    bad_line(file, number, "is not a judgment: " + excerpt(text), kQrelsFormats);
  }

  void json(const std::string& text, std::int64_t number) {
    const JsonRecord record = parse_record(text, file, number);
    const JsonRecord* grade = find_field(record, {"relevance", "rel", "grade", "label"});
    if (grade == nullptr || !grade->is_number_integer()) {
      bad_line(file, number, "\"relevance\" is missing or not a whole number",
               "write {\"qid\": ..., \"docno\": ..., \"relevance\": 1}");
    }
    const JsonRecord* iteration = find_field(record, {"iteration"});
    add(id_field(record, {"qid", "query_id", "topic"}, file, number),
        iteration != nullptr && iteration->is_string() ? iteration->get<std::string>() : "0",
        id_field(record, {"docno", "doc_id", "docid", "corpus_id"}, file, number), grade->get<std::int64_t>(), number);
  }

  void add(std::string_view query, std::string_view iteration, std::string_view docno, std::int64_t grade,
           std::int64_t number) {
    if (grade < std::numeric_limits<int>::min() || grade > std::numeric_limits<int>::max()) {
      bad_line(file, number, fmt::format("the grade {} is out of range", grade), "use a 32-bit integer");
    }
    if (!seen[std::string(query)].emplace(docno).second) {
      bad_line(file, number,
               fmt::format("judges document {} a second time for query {}", excerpt(docno), excerpt(query)),
               "keep one of the judgments");
    }
    result.judgments.push_back(
        {std::string(query), std::string(docno), std::string(iteration), static_cast<int>(grade)});
  }
};

}  // namespace

JudgmentFile read_judgment_file(const std::filesystem::path& file) {
  Lines lines;
  for_each_line(file, [&](const std::string& line, std::int64_t number) { lines.emplace_back(number, line); });
  Reader reader{file};
  reader.read(lines);
  if (reader.result.judgments.empty()) {
    throw Error(ErrorKind::invalid_data, input_name(file), "contains no judgments", std::string(kQrelsFormats));
  }
  return std::move(reader.result);
}

Qrels read_qrels(const std::filesystem::path& file) {
  Qrels qrels;
  for (Judgment& judgment : read_judgment_file(file).judgments) {
    qrels[std::move(judgment.query)].emplace(std::move(judgment.docno), judgment.grade);
  }
  return qrels;
}

std::size_t count_judgments(const Qrels& qrels) {
  std::size_t count = 0;
  for (const auto& [query, judgments] : qrels) count += judgments.size();
  return count;
}

}  // namespace relucent::index_tools
