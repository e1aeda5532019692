#include "index_tools/evaluation/qrels.h"

#include <limits>

#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

enum class Form { unknown, trec, smart, smart_relevant, jsonl, beir };

constexpr std::string_view kForms =
    "write TREC lines (qid iteration docno grade), SMART lines (qid docno grade) or JSON lines";

struct Reader {
  const std::filesystem::path& file;
  Qrels qrels = {};
  Form form = Form::unknown;

  void line(const std::string& text, std::int64_t number) {
    const auto fields = split_fields(text);
    if (fields.empty()) return;
    if (form == Form::unknown) {
      form = form_of(text, fields, number);
      if (form == Form::beir) return;  // its header
    }
    if (form == Form::jsonl) return json(text, number);
    const std::size_t columns = form == Form::trec || form == Form::smart_relevant ? 4 : 3;
    if (fields.size() != columns) {
      bad_line(file, number, "has " + std::to_string(fields.size()) + " columns where the first line has " +
                                 std::to_string(columns), kForms);
    }
    if (form == Form::smart_relevant) return add(fields[0], fields[1], 1, number);
    const std::string_view docno = form == Form::trec ? fields[2] : fields[1];
    std::int64_t grade = 0;
    if (!parse_whole_number(fields.back(), grade)) {
      bad_line(file, number, "the grade " + excerpt(fields.back()) + " is no whole number", kForms);
    }
    add(fields[0], docno, grade, number);
  }

  Form form_of(const std::string& text, const std::vector<std::string_view>& fields, std::int64_t number) const {
    if (fields[0].starts_with("{")) return Form::jsonl;
    std::int64_t grade = 0;
    if (fields.size() == 4) {
      // SMART's *.REL: the fourth column is a weight such as 0.000000, not a grade.
      double weight = 0;
      const bool weighted = !parse_whole_number(fields[3], grade) && parse_number(fields[3], weight) && fields[2] == "0";
      return weighted ? Form::smart_relevant : Form::trec;
    }
    if (fields.size() == 3) return fields[2] == "score" ? Form::beir : Form::smart;
    bad_line(file, number, "is no judgment: " + excerpt(text), kForms);
  }

  void json(const std::string& text, std::int64_t number) {
    const JsonRecord record = parse_record(text, file, number);
    const JsonRecord* grade = find_field(record, {"relevance", "rel", "grade", "label"});
    if (grade == nullptr || !grade->is_number_integer()) {
      bad_line(file, number, "has no whole number \"relevance\"", "write {\"qid\": ..., \"docno\": ..., \"relevance\": 1}");
    }
    add(id_field(record, {"qid", "query_id", "topic"}, file, number),
        id_field(record, {"docno", "doc_id", "docid", "corpus_id"}, file, number), grade->get<std::int64_t>(), number);
  }

  void add(std::string_view query, std::string_view docno, std::int64_t grade, std::int64_t number) {
    if (grade < std::numeric_limits<int>::min() || grade > std::numeric_limits<int>::max()) {
      bad_line(file, number, "the grade " + std::to_string(grade) + " is out of range");
    }
    if (!qrels[std::string(query)].emplace(docno, static_cast<int>(grade)).second) {
      bad_line(file, number, "judges document " + excerpt(docno) + " a second time for query " + excerpt(query),
               "keep one of the judgments");
    }
  }
};

}  // namespace

Qrels read_qrels(const std::filesystem::path& file) {
  Reader reader{file};
  for_each_line(file, [&](const std::string& line, std::int64_t number) { reader.line(line, number); });
  if (reader.qrels.empty()) throw Error(ErrorKind::invalid_data, file.string(), "holds no judgment", std::string(kForms));
  return std::move(reader.qrels);
}

std::size_t count_judgments(const Qrels& qrels) {
  std::size_t count = 0;
  for (const auto& [query, judgments] : qrels) count += judgments.size();
  return count;
}

}  // namespace relucent::index_tools
