#include "index_tools/evaluation/qrels_writer.h"

#include <array>
#include <utility>

#include "index_tools/evaluation/file_forms.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr FormNames<QrelsForm, 4> kQrelsFormatNames = {{{"trec", QrelsForm::trec},
                                             {"smart", QrelsForm::smart},
                                             {"jsonl", QrelsForm::jsonl},
                                             {"beir", QrelsForm::beir}}};

std::string line_of(const Judgment& judgment, QrelsForm form) {
  const std::string grade = std::to_string(judgment.grade);
  switch (form) {
    case QrelsForm::trec:
      return judgment.query + " " + judgment.iteration + " " + judgment.docno + " " + grade + "\n";
    case QrelsForm::smart:
      return judgment.query + " " + judgment.docno + " " + grade + "\n";
    case QrelsForm::beir:
      return judgment.query + "\t" + judgment.docno + "\t" + grade + "\n";
    case QrelsForm::npl:
      throw Error(ErrorKind::usage, "form npl", "is only read", "choose trec, smart, jsonl or beir");
    case QrelsForm::jsonl:
      break;
  }
  const JsonRecord record = {{"qid", judgment.query},
                             {"iteration", judgment.iteration},
                             {"docno", judgment.docno},
                             {"relevance", judgment.grade}};
  return record.dump(-1, ' ', false, JsonRecord::error_handler_t::replace) + "\n";
}

}  // namespace

std::string_view to_string(QrelsForm form) noexcept {
  return form == QrelsForm::npl ? "npl" : name_of_form(kQrelsFormatNames, form);
}

QrelsForm parse_qrels_form(std::string_view name) { return form_named(kQrelsFormatNames, name, "judgments"); }

std::optional<QrelsForm> qrels_form_of(const std::filesystem::path& file) {
  const std::string ending = ending_of(file);
  if (ending == ".jsonl") return QrelsForm::jsonl;
  if (ending == ".tsv") return QrelsForm::beir;
  if (ending == ".rel") return QrelsForm::smart;
  if (ending == ".qrels" || ending == ".trec") return QrelsForm::trec;
  return std::nullopt;
}

std::string format_judgments(const std::vector<Judgment>& judgments, QrelsForm form) {
  std::string text = form == QrelsForm::beir ? "query-id\tcorpus-id\tscore\n" : "";
  for (const Judgment& judgment : judgments) {
    if (form != QrelsForm::jsonl) {
      require_word(judgment.query, "query id", "this form");
      require_word(judgment.docno, "docno", "this form");
    }
    if (form == QrelsForm::trec) require_word(judgment.iteration, "iteration", "this form");
    text += line_of(judgment, form);
  }
  return text;
}

}  // namespace relucent::index_tools
