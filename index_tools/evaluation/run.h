#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// One line of a run.
struct RunHit {
  std::string docno;
  double score = 0;
};

/// A run as its file states it: each query's hits in the order of the lines, queries by the bytes of their ids.
struct Run {
  std::string tag;  ///< of the first line
  std::map<std::string, std::vector<RunHit>> queries;
};

/// Reads six-column TREC lines (qid Q0 docno rank score tag), plain or compressed. The rank column is not used.
/// Throws Error: `io` where the file cannot be read; `invalid_data` at file:line for a line of another form and a document
/// listed twice for a query.
Run read_run(const std::filesystem::path& file);

/// How a score is kept before hits are compared: trec_eval keeps 32-bit floats up to its version 9.0.8, doubles since.
enum class ScoreType { single_precision, double_precision };

/// trec_eval's order: score, higher first, then docno by its bytes, higher first.
void sort_as_trec_eval(std::vector<RunHit>& hits, ScoreType type = ScoreType::single_precision);

/// A query's hits, best first.
struct RankedQuery {
  std::string id;
  std::vector<RunHit> hits;
};

/// A run's text: queries in the order given, hits by score (equal ones stay in their order), ranks from 1. Where two
/// scores would be equal as 32-bit floats the later one is lowered to the next float, so that every trec_eval reads this
/// order. Throws Error `invalid_data` naming the id where a query id, docno or the tag is empty or holds a blank, and
/// for a score that is not finite.
std::string format_run(const std::vector<RankedQuery>& queries, std::string_view tag);

/// Writes format_run() to `file`, which appears whole or not at all.
void write_run(const std::filesystem::path& file, const std::vector<RankedQuery>& queries, std::string_view tag);

}  // namespace relucent::index_tools
