#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace relucent::index_tools {

/// A query's judged documents: docno to grade. A grade of 1 or more is relevant; grades may be negative.
using Judgments = std::unordered_map<std::string, int>;

/// Judgments by query id, in byte order of the ids.
using Qrels = std::map<std::string, Judgments>;

/// File formats of judgments. `npl` can be read but not written.
enum class QrelsFormat { trec, smart, npl, jsonl, beir };

struct Judgment {
  std::string query, docno;
  std::string iteration;  ///< TREC's second column; "0" if the format has none
  int grade = 0;
};

struct JudgmentFile {
  QrelsFormat format = QrelsFormat::trec;
  std::vector<Judgment> judgments;  ///< in the file's order
};

/// Reads judgments. The format is detected from the first non-blank line; with four columns, from all lines:
///   TREC   qid iteration docno grade
///   SMART  qid docno grade (as cranqrel), or qid docno 0 0 (as CACM's qrels.text), or qid docno 0 0.000000 (as *.REL).
///          In the last two every line is relevant, grade 1, and numbers lose their leading zeros: 01 0046 is 1 46
///   NPL    a line with the query's number, lines of documents' numbers, a line "/" (Vaswani's rlv-ass): all grade 1
///   JSONL  {"qid" or "query_id": ..., "docno" or "doc_id" or "docid": ...,
///          "relevance" or "rel" or "grade" or "label": ...}
///   BEIR   three columns under a header line "query-id corpus-id score"
/// Grades are used as stated, also cranqrel's, where 1 is the best. The file may be compressed.
/// Throws Error: `io` if the file cannot be read; `invalid_data` at file:line for a line of another format and for a
/// document judged twice for a query.
JudgmentFile read_judgment_file(const std::filesystem::path& file);
/// The same, grouped by query.
Qrels read_qrels(const std::filesystem::path& file);

/// Total number of judgments.
std::size_t count_judgments(const Qrels& qrels);

}  // namespace relucent::index_tools
