#include "index_tools/evaluation/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kRunFormats =
    "use six columns (qid Q0 docno rank score tag), three (qid docno rank), or JSON lines";
constexpr std::string_view kColumns = "a run's columns";

class RunReader {
 public:
  explicit RunReader(const std::filesystem::path& file) : file_(file) {}

  void line(const std::string& text, std::int64_t number) {
    const auto fields = split_fields(text);
    if (fields.empty()) return;
    if (run_.queries.empty()) run_.format = form_of(fields);
    if (run_.format == RunFormat::jsonl) return json(text, number);
    const std::size_t columns = run_.format == RunFormat::trec ? 6 : 3;
    if (fields.size() != columns) {
      bad_line(file_, number, fmt::format("has {} columns: {}", fields.size(), excerpt(text)), kRunFormats);
    }
    if (run_.format == RunFormat::msmarco) return add(fields[0], ranked(fields[1], fields[2], number), {}, number);
    RunHit hit{std::string(fields[2])};
    if (!parse_number(fields[4], hit.score)) {
      bad_line(file_, number, fmt::format("the score {} is not a number", excerpt(fields[4])), kRunFormats);
    }
    if (!parse_whole_number(fields[3], hit.rank)) hit.rank = 0;
    add(fields[0], std::move(hit), fields[5], number);
  }

  Run finish() {
    if (run_.queries.empty()) throw Error(ErrorKind::invalid_data, input_name(file_), "contains no hits", kRunFormats);
    return std::move(run_);
  }

 private:
  static RunFormat form_of(const std::vector<std::string_view>& fields) {
    if (fields[0].starts_with('{')) return RunFormat::jsonl;
    std::int64_t rank = 0;
    return fields.size() == 3 && parse_whole_number(fields[2], rank) ? RunFormat::msmarco : RunFormat::trec;
  }

  RunHit ranked(std::string_view docno, std::string_view rank, std::int64_t number) const {
    RunHit hit{std::string(docno)};
    if (!parse_whole_number(rank, hit.rank) || hit.rank < 1) {
      bad_line(file_, number, fmt::format("the rank {} is not a positive whole number", excerpt(rank)), kRunFormats);
    }
    hit.score = 1.0 / static_cast<double>(hit.rank);
    return hit;
  }

  void json(const std::string& text, std::int64_t number) {
    const JsonRecord record = parse_record(text, file_, number);
    const std::string query = id_field(record, {"qid", "query_id"}, file_, number);
    RunHit hit{id_field(record, {"docno", "doc_id", "docid"}, file_, number)};
    const JsonRecord* score = find_field(record, {"score"});
    if (score == nullptr || !score->is_number())
      bad_line(file_, number, "\"score\" is missing or not a number", "add it, or remove the line");
    hit.score = score->get<double>();
    if (const JsonRecord* rank = find_field(record, {"rank"}); rank != nullptr && rank->is_number_integer()) {
      hit.rank = rank->get<std::int64_t>();
    }
    const JsonRecord* tag = find_field(record, {"tag"});
    add(query, std::move(hit), tag != nullptr && tag->is_string() ? tag->get<std::string>() : std::string(), number);
  }

  void add(std::string_view query, RunHit hit, std::string_view tag, std::int64_t number) {
    if (run_.tag.empty()) run_.tag = tag;
    if (run_.tag != tag) ++run_.other_tags;
    const auto [place, is_new] = run_.queries.try_emplace(std::string(query));
    if (is_new) run_.query_order.push_back(place->first);
    if (!seen_[place->first].insert(hit.docno).second) {
      bad_line(file_, number,
               fmt::format("lists document {} a second time for query {}", excerpt(hit.docno), excerpt(query)),
               "keep one of the lines");
    }
    place->second.push_back(std::move(hit));
  }

  const std::filesystem::path& file_;
  Run run_;
  std::unordered_map<std::string, std::unordered_set<std::string>> seen_;
};

}  // namespace

Run read_run(const std::filesystem::path& file) {
  RunReader reader(file);
  for_each_line(file, [&](const std::string& line, std::int64_t number) { reader.line(line, number); });
  return reader.finish();
}

void sort_as_trec_eval(std::vector<RunHit>& hits, ScoreType type) {
  const auto kept = [type](const RunHit& hit) {
    return type == ScoreType::single_precision ? static_cast<double>(static_cast<float>(hit.score)) : hit.score;
  };
  // std::string compares bytes as unsigned, which is the order of UTF-8.
  std::sort(hits.begin(), hits.end(), [&](const RunHit& a, const RunHit& b) {
    const double first = kept(a), second = kept(b);
    return first != second ? first > second : a.docno > b.docno;
  });
}

RankedQuery with_scores_apart(const RankedQuery& query) {
  RankedQuery result = query;
  for (const RunHit& hit : result.hits) {
    if (std::isfinite(static_cast<float>(hit.score))) continue;
    throw Error(ErrorKind::invalid_data, fmt::format("query {}, docno {}", query.id, hit.docno),
                "the score is not finite as a 32-bit float", "check the model and the score mode");
  }
  std::stable_sort(result.hits.begin(), result.hits.end(),
                   [](const RunHit& a, const RunHit& b) { return a.score > b.score; });
  float above = std::numeric_limits<float>::infinity();
  for (RunHit& hit : result.hits) {
    float score = static_cast<float>(hit.score);
    if (score >= above) score = std::nextafter(above, -std::numeric_limits<float>::infinity());
    if (score == 0) score = 0;  // never "-0"
    above = score;
    hit.score = score;
  }
  return result;
}

std::string format_run(const std::vector<RankedQuery>& queries, std::string_view tag) {
  require_word(tag, "run tag", kColumns);
  std::string text;
  for (const RankedQuery& query : queries) {
    require_word(query.id, "query id", kColumns);
    std::size_t rank = 0;
    for (const RunHit& hit : with_scores_apart(query).hits) {
      require_word(hit.docno, "docno", kColumns);
      char digits[32];
      const char* end = std::to_chars(digits, digits + sizeof digits, static_cast<float>(hit.score)).ptr;
      fmt::format_to(std::back_inserter(text), "{} Q0 {} {} {} {}\n", query.id, hit.docno, ++rank,
                     std::string_view(digits, end), tag);
    }
  }
  return text;
}

void write_run(const std::filesystem::path& file, const std::vector<RankedQuery>& queries, std::string_view tag) {
  const std::string text = format_run(queries, tag);
  OutputFile output(file);
  output.write(text);
  output.commit();
}

}  // namespace relucent::index_tools
