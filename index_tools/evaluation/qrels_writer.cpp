#include "index_tools/evaluation/qrels_writer.h"

#include <fmt/core.h>

#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

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
  const JsonLine record = {{"qid", judgment.query},
                           {"iteration", judgment.iteration},
                           {"docno", judgment.docno},
                           {"relevance", judgment.grade}};
  return record.dump(-1, ' ', false, JsonLine::error_handler_t::replace) + "\n";
}

}  // namespace

const FileFormats<QrelsFormat>& qrels_formats() {
  static const FileFormats<QrelsFormat> formats = {"judgment",
                                                   {{QrelsFormat::trec, "trec", {".qrels", ".trec"}},
                                                    {QrelsFormat::smart, "smart", {".rel"}},
                                                    {QrelsFormat::jsonl, "jsonl", {".jsonl"}},
                                                    {QrelsFormat::beir, "beir", {".tsv"}},
                                                    {QrelsFormat::npl, "npl", {}}}};
  return formats;
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
