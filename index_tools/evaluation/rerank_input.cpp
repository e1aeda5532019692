#include "index_tools/evaluation/rerank_input.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/ascii.h"
#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

class RerankInputReader {
 public:
  RerankInputReader(const std::filesystem::path& file, bool keep_lines, BadLines bad)
      : file_(file), keep_lines_(keep_lines), bad_(bad) {}

  void line(const std::string& line, std::int64_t number) {
    if (is_blank(line)) return;
    try {
      add(line, number);
    } catch (const Error& error) {
      if (bad_ == BadLines::refuse || error.kind() != ErrorKind::invalid_data) throw;
      if (input_.left_out.empty()) first_fault_.emplace(error);
      input_.left_out.emplace_back(error.what());
    }
  }

  RerankInput finish() {
    if (input_.queries.empty()) {
      if (first_fault_) throw Error(*first_fault_);
      throw Error(ErrorKind::invalid_data, input_name(file_), "contains no candidates",
                  "write JSON lines with qid, query, docno, text, rank and score");
    }
    for (RerankQuery& query : input_.queries) {
      std::stable_sort(query.candidates.begin(), query.candidates.end(),
                       [](const RerankCandidate& a, const RerankCandidate& b) { return a.rank < b.rank; });
      std::int64_t rank = 0;
      for (RerankCandidate& candidate : query.candidates) candidate.rank = ++rank;
    }
    return std::move(input_);
  }

 private:
  /// Changes nothing if it throws.
  void add(const std::string& line, std::int64_t number) {
    const JsonRecord record = parse_record(line, file_, number);
    const std::string id = id_field(record, {"qid", "query_id"}, file_, number);
    const std::string text = query_text(id, record, number);

    RerankCandidate candidate;
    candidate.docno = id_field(record, {"docno", "doc_id", "docid"}, file_, number);
    if (const auto seen = seen_.find(id); seen != seen_.end() && seen->second.contains(candidate.docno)) {
      bad_line(file_, number,
               fmt::format("lists document {} a second time for query {}", excerpt(candidate.docno), excerpt(id)),
               "keep one of the lines");
    }
    candidate.text = string_of(record, "text", number);
    bool scored = true;
    const JsonRecord* score = stated(record, "score");
    if (score == nullptr) {
      scored = false;
    } else if (!score->is_number() || !std::isfinite(score->get<double>())) {
      bad_line(file_, number, "\"score\" is not a number", "write the first stage's score");
    } else {
      candidate.score = score->get<double>();
    }
    // Records without a rank follow those with one, in the order of the lines.
    candidate.rank = std::numeric_limits<std::int64_t>::max();
    if (const JsonRecord* rank = stated(record, "rank"); rank != nullptr) {
      if (!rank->is_number_integer())
        bad_line(file_, number, "\"rank\" is not a whole number", "write the first stage's rank");
      candidate.rank = rank->get<std::int64_t>();
    }
    if (keep_lines_) candidate.line = line;
    seen_[id].insert(candidate.docno);
    input_.all_scored = input_.all_scored && scored;
    const auto [place, is_new] = places_.emplace(id, input_.queries.size());
    if (is_new) input_.queries.push_back({id, text, {}});
    input_.queries[place->second].candidates.push_back(std::move(candidate));
    ++input_.candidates;
  }

  static const JsonRecord* stated(const JsonRecord& record, const char* name) {
    const JsonRecord* value = find_field(record, {name});
    return value != nullptr && value->is_null() ? nullptr : value;
  }

  std::string string_of(const JsonRecord& record, const char* name, std::int64_t number) const {
    const JsonRecord* value = stated(record, name);
    if (value == nullptr) return {};
    if (!value->is_string())
      bad_line(file_, number, fmt::format("\"{}\" is not a string", name), "write it as a string");
    return value->get<std::string>();
  }

  /// The record's query, which is that of the lines before.
  std::string query_text(const std::string& id, const JsonRecord& record, std::int64_t number) const {
    std::string text = string_of(record, "query", number);
    if (is_blank(text)) {
      bad_line(file_, number, fmt::format("query {} has no text in \"query\"", excerpt(id)),
               "the model needs the query's words; add them, or remove the query's lines");
    }
    const auto known = places_.find(id);
    if (known != places_.end() && input_.queries[known->second].text != text) {
      bad_line(file_, number,
               fmt::format("query {} reads {} here but {} on an earlier line", excerpt(id), excerpt(text),
                           excerpt(input_.queries[known->second].text)),
               "use different ids for different queries");
    }
    return text;
  }

  const std::filesystem::path& file_;
  bool keep_lines_;
  BadLines bad_;
  RerankInput input_;
  std::optional<Error> first_fault_;
  std::unordered_map<std::string, std::size_t> places_;
  std::unordered_map<std::string, std::unordered_set<std::string>> seen_;
};

}  // namespace

std::vector<Candidate> scorer_candidates(const RerankQuery& query) {
  std::vector<Candidate> candidates;
  candidates.reserve(query.candidates.size());
  for (const RerankCandidate& candidate : query.candidates) {
    candidates.push_back({candidate.docno, candidate.text, candidate.score, static_cast<std::int32_t>(candidate.rank)});
  }
  return candidates;
}

RerankInput read_rerank_input(const std::filesystem::path& file, bool keep_lines, BadLines bad) {
  RerankInputReader reader(file, keep_lines, bad);
  for_each_line(file, [&](const std::string& line, std::int64_t number) { reader.line(line, number); });
  return reader.finish();
}

std::filesystem::path rerank_file_in(const std::filesystem::path& folder) {
  for (const char* name : {"rerank.jsonl.gz", "rerank.jsonl"}) {
    if (std::filesystem::exists(folder / name)) return folder / name;
  }
  if (std::filesystem::exists(folder / "queries.jsonl")) {
    throw Error(ErrorKind::io, folder.string(),
                "is an input for retrieval (documents and queries.jsonl) and has no candidates to rerank",
                "index the documents with `relucent index` and search the queries with `relucent search --topics`");
  }
  throw Error(ErrorKind::io, folder.string(), "contains neither rerank.jsonl.gz nor rerank.jsonl",
              "pass a directory that contains one, or the file itself");
}

std::string dataset_id_in(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "metadata.json";
  if (!std::filesystem::is_regular_file(file)) return {};
  try {
    std::string text;
    for_each_line(file, [&](const std::string& line, std::int64_t) { text += line + "\n"; });
    const JsonRecord metadata = parse_record(text, file, 1);
    return id_field(metadata, {"ir_datasets_id"}, file, 1);
  } catch (const Error&) {
    return {};
  }
}

std::string format_rerank_line(const std::string& query_id, const std::string& query,
                               const RerankCandidate& candidate) {
  const JsonLine record = {{"qid", query_id},        {"query", query},         {"docno", candidate.docno},
                           {"text", candidate.text}, {"rank", candidate.rank}, {"score", candidate.score}};
  return record.dump(-1, ' ', false, JsonLine::error_handler_t::replace) + "\n";
}

}  // namespace relucent::index_tools
