#include "index_tools/evaluation/qrels.h"

#include <limits>
#include <unordered_set>
#include <utility>

#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kForms =
    "write TREC lines (qid iteration docno grade), SMART lines (qid docno grade) or JSON lines";

struct Reader {
  const std::filesystem::path& file;
  JudgmentFile result = {};
  bool form_known = false;
  bool weighted = false;  // SMART's *.REL, whose fourth column is a weight such as 0.000000
  std::unordered_map<std::string, std::unordered_set<std::string>> seen = {};

  void line(const std::string& text, std::int64_t number) {
    const auto fields = split_fields(text);
    if (fields.empty()) return;
    if (!form_known) {
      result.form = form_of(text, fields, number);
      form_known = true;
      if (result.form == QrelsForm::beir) return;  // its header
    }
    if (result.form == QrelsForm::jsonl) return json(text, number);
    const bool trec = result.form == QrelsForm::trec;
    const std::size_t columns = trec || weighted ? 4 : 3;
    if (fields.size() != columns) {
      bad_line(file, number, "has " + std::to_string(fields.size()) + " columns where the first line has " +
                                 std::to_string(columns), kForms);
    }
    if (weighted) return add(fields[0], "0", fields[1], 1, number);
    std::int64_t grade = 0;
    if (!parse_whole_number(fields.back(), grade)) {
      bad_line(file, number, "the grade " + excerpt(fields.back()) + " is no whole number", kForms);
    }
    add(fields[0], trec ? fields[1] : "0", trec ? fields[2] : fields[1], grade, number);
  }

  QrelsForm form_of(const std::string& text, const std::vector<std::string_view>& fields, std::int64_t number) {
    if (fields[0].starts_with("{")) return QrelsForm::jsonl;
    std::int64_t grade = 0;
    if (fields.size() == 4) {
      double weight = 0;
      weighted = !parse_whole_number(fields[3], grade) && parse_number(fields[3], weight) && fields[2] == "0";
      return weighted ? QrelsForm::smart : QrelsForm::trec;
    }
    if (fields.size() == 3) return fields[2] == "score" ? QrelsForm::beir : QrelsForm::smart;
    bad_line(file, number, "is no judgment: " + excerpt(text), kForms);
  }

  void json(const std::string& text, std::int64_t number) {
    const JsonRecord record = parse_record(text, file, number);
    const JsonRecord* grade = find_field(record, {"relevance", "rel", "grade", "label"});
    if (grade == nullptr || !grade->is_number_integer()) {
      bad_line(file, number, "has no whole number \"relevance\"",
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
      bad_line(file, number, "the grade " + std::to_string(grade) + " is out of range");
    }
    if (!seen[std::string(query)].emplace(docno).second) {
      bad_line(file, number, "judges document " + excerpt(docno) + " a second time for query " + excerpt(query),
               "keep one of the judgments");
    }
    result.judgments.push_back(
        {std::string(query), std::string(docno), std::string(iteration), static_cast<int>(grade)});
  }
};

}  // namespace

JudgmentFile read_judgment_file(const std::filesystem::path& file) {
  Reader reader{file};
  for_each_line(file, [&](const std::string& line, std::int64_t number) { reader.line(line, number); });
  if (reader.result.judgments.empty()) {
    throw Error(ErrorKind::invalid_data, file.string(), "holds no judgment", std::string(kForms));
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
