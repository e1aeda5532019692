#include "index_tools/evaluation/run.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "index_tools/evaluation/output_file.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kForm = "write six columns: qid Q0 docno rank score tag";

void require_word(std::string_view word, std::string_view what) {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0'; };
  if (!word.empty() && std::none_of(word.begin(), word.end(), blank)) return;
  throw Error(ErrorKind::invalid_data, std::string(what) + " " + excerpt(word),
              word.empty() ? "is empty" : "holds a blank, which a run's columns cannot",
              "give it another name, or write JSON instead of a run");
}

}  // namespace

Run read_run(const std::filesystem::path& file) {
  Run run;
  std::map<std::string, std::unordered_set<std::string>, std::less<>> seen;
  for_each_line(file, [&](const std::string& line, std::int64_t number) {
    const auto fields = split_fields(line);
    if (fields.empty()) return;
    if (fields.size() != 6) {
      bad_line(file, number, "has " + std::to_string(fields.size()) + " columns: " + excerpt(line), kForm);
    }
    RunHit hit{std::string(fields[2]), 0};
    if (!parse_number(fields[4], hit.score)) {
      bad_line(file, number, "the score " + excerpt(fields[4]) + " is no number", kForm);
    }
    if (run.queries.empty()) run.tag = fields[5];
    std::string query(fields[0]);
    if (!seen[query].insert(hit.docno).second) {
      bad_line(file, number, "lists document " + excerpt(hit.docno) + " a second time for query " + excerpt(query),
               "keep one of the lines");
    }
    run.queries[std::move(query)].push_back(std::move(hit));
  });
  if (run.queries.empty()) throw Error(ErrorKind::invalid_data, file.string(), "holds no hit", std::string(kForm));
  return run;
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

std::string format_run(const std::vector<RankedQuery>& queries, std::string_view tag) {
  require_word(tag, "run tag");
  std::string text;
  for (const RankedQuery& query : queries) {
    require_word(query.id, "query id");
    std::vector<const RunHit*> hits;
    for (const RunHit& hit : query.hits) {
      require_word(hit.docno, "docno");
      if (!std::isfinite(static_cast<float>(hit.score))) {
        throw Error(ErrorKind::invalid_data, "query " + query.id + ", docno " + hit.docno,
                    "the score is not finite as a 32-bit float", "look at the model and the score mode");
      }
      hits.push_back(&hit);
    }
    std::stable_sort(hits.begin(), hits.end(), [](const RunHit* a, const RunHit* b) { return a->score > b->score; });
    float above = std::numeric_limits<float>::infinity();
    std::size_t rank = 0;
    for (const RunHit* hit : hits) {
      float score = static_cast<float>(hit->score);
      if (score >= above) score = std::nextafter(above, -std::numeric_limits<float>::infinity());
      if (score == 0) score = 0;  // never "-0"
      above = score;
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof digits, score).ptr;
      text += query.id + " Q0 " + hit->docno + " " + std::to_string(++rank) + " ";
      text.append(digits, end);
      text.append(" ").append(tag).append("\n");
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
