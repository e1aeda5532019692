#include "index_tools/evaluation/qrels_writer.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "index_tools/evaluation/file_formats.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr FormatNames<QrelsFormat, 4> kQrelsFormatNames = {{{"trec", QrelsFormat::trec},
                                                            {"smart", QrelsFormat::smart},
                                                            {"jsonl", QrelsFormat::jsonl},
                                                            {"beir", QrelsFormat::beir}}};

std::string line_of(const Judgment& judgment, QrelsFormat format) {
  switch (format) {
    case QrelsFormat::trec:
      return fmt::format("{} {} {} {}\n", judgment.query, judgment.iteration, judgment.docno, judgment.grade);
    case QrelsFormat::smart: return fmt::format("{} {} {}\n", judgment.query, judgment.docno, judgment.grade);
    case QrelsFormat::beir: return fmt::format("{}\t{}\t{}\n", judgment.query, judgment.docno, judgment.grade);
    case QrelsFormat::npl:
      throw Error(ErrorKind::usage, "format npl", "can be read but not written", "choose trec, smart, jsonl or beir");
    case QrelsFormat::jsonl: break;
  }
  const JsonRecord record = {{"qid", judgment.query},
                             {"iteration", judgment.iteration},
                             {"docno", judgment.docno},
                             {"relevance", judgment.grade}};
  return record.dump(-1, ' ', false, JsonRecord::error_handler_t::replace) + "\n";
}

}  // namespace

std::string_view to_string(QrelsFormat format) noexcept {
  return format == QrelsFormat::npl ? "npl" : name_of_format(kQrelsFormatNames, format);
}

QrelsFormat parse_qrels_format(std::string_view name) { return format_named(kQrelsFormatNames, name, "judgment"); }

std::optional<QrelsFormat> qrels_format_of(const std::filesystem::path& file) {
  const std::string ending = ending_of(file);
  if (ending == ".jsonl") return QrelsFormat::jsonl;
  if (ending == ".tsv") return QrelsFormat::beir;
  if (ending == ".rel") return QrelsFormat::smart;
  if (ending == ".qrels" || ending == ".trec") return QrelsFormat::trec;
  return std::nullopt;
}

std::string format_judgments(const std::vector<Judgment>& judgments, QrelsFormat format) {
  std::string text = format == QrelsFormat::beir ? "query-id\tcorpus-id\tscore\n" : "";
  for (const Judgment& judgment : judgments) {
    if (format != QrelsFormat::jsonl) {
      require_word(judgment.query, "query id", "this format");
      require_word(judgment.docno, "docno", "this format");
    }
    if (format == QrelsFormat::trec) require_word(judgment.iteration, "iteration", "this format");
    text += line_of(judgment, format);
  }
  return text;
}

}  // namespace relucent::index_tools
