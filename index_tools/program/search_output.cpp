#include "index_tools/program/search_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "index_tools/indexing/progress.h"
#include "index_tools/program/snippet.h"
#include "index_tools/program/terminal.h"
#include "server/result_json.h"

namespace relucent::program {
namespace {

constexpr const char* kBold = "\033[1m";
constexpr const char* kMark = "\033[1;33m";
constexpr const char* kUp = "\033[32m";
constexpr const char* kDown = "\033[31m";
constexpr const char* kDim = "\033[2m";
constexpr const char* kPlain = "\033[0m";

std::string styled(bool styles, const char* start, const std::string& text) {
  return styles && !text.empty() ? fmt::format("{}{}{}", start, text, kPlain) : text;
}

std::string moved(const SearchHit& hit) {
  const std::int64_t up = hit.first_stage_rank - hit.rank;
  if (up == 0) return "=";
  return fmt::format("{} {}", up > 0 ? "↑" : "↓", std::abs(up));
}

std::string right(const std::string& text, std::size_t columns) {
  const std::size_t used = display_columns(text);
  return std::string(columns > used ? columns - used : 0, ' ') + text;
}

std::string marked(const Snippet& snippet, bool styles) {
  if (!styles) return snippet.text;
  std::string text;
  std::size_t place = 0;
  for (const auto& [begin, end] : snippet.marks) {
    text += snippet.text.substr(place, begin - place) + styled(true, kMark, snippet.text.substr(begin, end - begin));
    place = end;
  }
  return text + snippet.text.substr(place);
}

bool in_first_stage_order(const SearchResult& result) { return result.rescoring && result.rescored == 0; }

/// A readable reason why the order is the first stage's. Degraded results may also be rescored, on the CPU after a GPU
/// failed.
const char* why_not_rescored(const SearchResult& result) {
  if (result.degraded) return "degraded";
  if (result.status == RescoreStatus::no_query_text) return "not rescored: the query has no text for the model";
  return "not rescored: no hit has stored text";
}

std::string heading(const SearchResult& result) {
  std::string text = fmt::format("{} of {}{} {}", result.hits.size(), result.total_is_exact ? "" : "at least ",
                                 index_tools::with_commas(result.total_hits), result.total_hits == 1 ? "hit" : "hits");
  if (in_first_stage_order(result)) return fmt::format("{} in BM25's order ({})", text, why_not_rescored(result));
  if (result.rescoring) text += fmt::format(", the best {} rescored", result.rescored + result.without_text);
  if (result.truncated > 0) text += fmt::format(" ({} cut to what the model reads)", result.truncated);
  if (result.encoded > 0) text += fmt::format(" ({} encoded now)", result.encoded);
  if (result.cached > 0) text += fmt::format(" ({} from the cache)", result.cached);
  if (result.degraded) text += result.by_earlier_stages ? " (degraded)" : " on the CPU (degraded)";
  if (result.query_truncated) text += " (by the beginning of the query)";
  return text + fmt::format(", {:.0f} ms", in_milliseconds(result.total));
}

void print_explanation(std::ostream& out, const SearchExplanation& node, const std::string& indent) {
  out << indent << fmt::format("{:.6g}  {}\n", node.value, printable(node.description));
  for (const SearchExplanation& detail : node.details) print_explanation(out, detail, indent + "  ");
}

void print_facets(std::ostream& out, const std::vector<FacetCounts>& facets) {
  for (const FacetCounts& facet : facets) {
    out << printable(facet.key) << ":";
    for (const auto& [value, documents] : facet.values) {
      out << fmt::format("  {} ({})", printable(value), index_tools::with_commas(documents));
    }
    const auto shown = static_cast<std::int64_t>(facet.values.size());
    if (facet.all_values > shown) {
      out << fmt::format("  and {} rarer values", index_tools::with_commas(facet.all_values - shown));
    }
    out << "\n";
  }
}

}  // namespace

void print_table(std::ostream& out, const SearchResult& result, const TableStyle& style) {
  const bool styles = style.styles;
  out << styled(styles, kBold, shortened(printable(result.query), style.columns)) << "\n";
  if (result.no_words) {
    out << "No hits: the query has only stop words and punctuation, which are not indexed.\n";
    return;
  }
  if (result.hits.empty()) {
    out << "No hits.\n";
    return;
  }
  out << styled(styles, kDim, heading(result)) << "\n";
  const bool both = result.rescoring && !in_first_stage_order(result);
  const std::size_t width = std::max<std::size_t>(4, fmt::formatted_size("{}", result.hits.back().rank) + 2);
  const std::string header =
      both ? fmt::format("{:>{}}{:>8}{:>11}{:>8}{:>12}  id", "#", width, "moved", "score", "BM25 #", "BM25 score")
           : fmt::format("{:>{}}{:>12}  id", "#", width, "BM25 score");
  out << styled(styles, kDim, header) << "\n";
  const QueryStems stems = query_stems(result.query, result.analyzer);
  for (std::size_t i = 0; i < result.hits.size(); ++i) {
    const SearchHit& hit = result.hits[i];
    out << styled(styles, kBold, fmt::format("{:>{}}", hit.rank, width));
    if (both) {
      const std::int64_t up = hit.first_stage_rank - hit.rank;
      out << styled(styles,
                    up > 0   ? kUp
                    : up < 0 ? kDown
                             : kDim,
                    right(moved(hit), 8))
          << fmt::format("{:>11.4f}{:>8}", hit.score, hit.first_stage_rank);
    }
    const std::string indent(width + 2, ' ');
    const std::size_t columns = std::max<std::size_t>(style.columns, width + 22) - width - 2;
    std::string id = printable(hit.id), before_id = "  ";
    if (style.fit_ids && display_columns(header) - 2 + display_columns(id) > style.columns) {
      id = shortened_at_front(id, columns);
      before_id = "\n" + indent;
    }
    out << fmt::format("{:>12.4f}{}{}\n", hit.first_stage_score, before_id, styled(styles, kBold, id));
    const Snippet snippet = hit.passage ? make_snippet(hit.passage->text, stems, columns,
                                                       {hit.passage->begin > 0, !hit.passage->ends_field})
                                        : make_snippet(hit.text, stems, columns);
    if (snippet.text.empty()) {
      out << indent << styled(styles, kDim, "(no text)") << "\n";
    } else {
      out << indent << marked(snippet, styles) << "\n";
    }
    if (!hit.fields.empty()) {
      out << indent << styled(styles, kDim, printable(server::to_text(server::object_json(hit.fields)))) << "\n";
    }
    if (hit.explanation) print_explanation(out, *hit.explanation, indent);
  }
  print_facets(out, result.facets);
}

void print_json(std::ostream& out, const SearchResult& result, const std::string& id) {
  server::Answer json = server::Answer::object();
  if (!id.empty()) json["qid"] = id;
  json.update(server::result_json(result, server::Paths::shown));
  json["hits"] = server::Answer::array();
  for (const SearchHit& hit : result.hits) {
    server::Answer shown = server::hit_json(hit, result, server::Paths::shown);
    shown["text"] = hit.text;
    server::add_passage_text(hit, shown);
    json["hits"].push_back(std::move(shown));
  }
  json["milliseconds"] = server::milliseconds_json(result);
  out << server::to_text(json) << "\n";
}

void print_json_error(std::ostream& out, const std::string& query, const std::string& id, const std::string& error) {
  server::Answer json = server::Answer::object();
  if (!id.empty()) json["qid"] = id;
  json["query"] = query;
  json["error"] = error;
  out << server::to_text(json) << "\n";
}

std::string timings_line(const SearchResult& result) {
  const StageTimes& times = result.times;
  const std::string device =
      times.device.count() > 0 ? fmt::format(" (device {:.2f} ms)", in_milliseconds(times.device)) : "";
  std::string line = fmt::format(
      "parse {:.2f} ms, first stage {:.2f} ms, fetch text {:.2f} ms, tokenize {:.2f} ms, encode {:.2f} ms{}, combine "
      "{:.2f} ms, passages {:.2f} ms, all {:.2f} ms",
      in_milliseconds(times.parse), in_milliseconds(times.first_stage), in_milliseconds(times.fetch),
      in_milliseconds(times.tokenize), in_milliseconds(times.encode), device, in_milliseconds(times.combine),
      in_milliseconds(times.passages), in_milliseconds(result.total));
  if (result.stages.size() > 1) {
    for (std::size_t i = 0; i < result.stages.size(); ++i) {
      const StageTimes& of_stage = result.stages[i].times;
      line += fmt::format("\n  stage {}: {} hits, fetch text {:.2f} ms, tokenize {:.2f} ms, encode {:.2f} ms", i + 1,
                          result.stages[i].rescored, in_milliseconds(of_stage.fetch),
                          in_milliseconds(of_stage.tokenize), in_milliseconds(of_stage.encode));
    }
  }
  return line;
}

}  // namespace relucent::program
