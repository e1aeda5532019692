#include "index_tools/program/snippet.h"

#include <algorithm>

#include "base/utf8.h"
#include "index_tools/program/terminal.h"
#include "relucent/analysis.h"

namespace relucent::program {
namespace {

struct Match {
  std::size_t begin, end;  // bytes
  std::string stem;
};

std::string beginning(std::string_view text) { return printable(utf8_prefix(text, kSnippetSource)); }

}  // namespace

QueryStems query_stems(std::string_view query, AnalyzerKind analyzer) {
  QueryStems stems{{}, can_analyze(analyzer) ? analyzer : AnalyzerKind::english};
  for (AnalyzedToken& token : analyze(stems.analyzer, query)) stems.terms.insert(std::move(token.term));
  return stems;
}

Snippet make_snippet(std::string_view whole, const QueryStems& stems, std::size_t columns, Surroundings surroundings) {
  const std::string text = beginning(whole);
  const bool goes_on = surroundings.after || whole.size() > kSnippetSource;

  // column[i]: columns before byte i.
  std::vector<std::size_t> column(text.size() + 1);
  for (std::size_t i = 0, used = 0; i < text.size();) {
    const Cell cell = first_cell(std::string_view(text).substr(i));
    for (std::size_t j = 0; j < cell.bytes; ++j) column[i + j] = used;
    used += cell.columns;
    i += cell.bytes;
    column[i] = used;
  }

  std::vector<Match> matches;
  std::vector<std::size_t> word_begins;
  for (const AnalyzedToken& token : analyze(stems.analyzer, text)) {
    word_begins.push_back(token.start);
    if (stems.terms.contains(token.term)) matches.push_back({token.start, token.end, token.term});
  }

  // The window that begins at a matching word and contains the most distinct ones.
  const std::size_t room = columns > 4 ? columns - 4 : columns;  // reserves an ellipsis on both sides
  std::size_t first_byte = 0;
  if (column.back() > columns) {
    std::size_t best = 0;
    for (std::size_t first = 0; first < matches.size(); ++first) {
      std::set<std::string_view> different;
      std::size_t last_end = matches[first].begin;
      for (std::size_t i = first; i < matches.size() && column[matches[i].end] - column[matches[first].begin] <= room;
           ++i) {
        different.insert(matches[i].stem);
        last_end = matches[i].end;
      }
      if (different.size() <= best) continue;
      best = different.size();
      // Distribute the remaining room to both sides, to show the words in context.
      const std::size_t used = column[last_end] - column[matches[first].begin];
      const std::size_t before = (room - std::min(used, room)) / 3;
      const std::size_t wanted = column[matches[first].begin] > before ? column[matches[first].begin] - before : 0;
      first_byte = matches[first].begin;
      if (column[last_end] <= columns) {
        first_byte = 0;
      } else {
        const auto begin =
            std::find_if(word_begins.begin(), word_begins.end(), [&](std::size_t b) { return column[b] >= wanted; });
        if (begin != word_begins.end()) first_byte = std::min(*begin, first_byte);
      }
    }
    // Near the end of the text, show more before than after.
    const std::size_t last_column = column.back() - std::min(column.back(), room);
    const auto latest =
        std::find_if(word_begins.begin(), word_begins.end(), [&](std::size_t b) { return column[b] >= last_column; });
    if (!goes_on && latest != word_begins.end()) first_byte = std::min(first_byte, *latest);
  }

  Snippet snippet;
  std::size_t left = columns;
  if (first_byte > 0 || (surroundings.before && !text.empty())) {
    snippet.text = "… ";
    left = left > 2 ? left - 2 : 0;
  }
  const bool cut = goes_on || column.back() - column[first_byte] > left;
  if (cut && left > 0) --left;
  std::size_t last_byte = first_byte;
  while (last_byte < text.size()) {
    const Cell cell = first_cell(std::string_view(text).substr(last_byte));
    if (column[last_byte] - column[first_byte] + cell.columns > left) break;
    last_byte += cell.bytes;
  }
  if (cut && last_byte < text.size()) {
    // Do not cut a word if the previous one ends nearby.
    const std::size_t blank = text.rfind(' ', last_byte);
    if (blank != std::string::npos && blank > first_byte && last_byte - blank < 20) last_byte = blank;
  }
  const std::size_t offset = snippet.text.size();
  snippet.text += text.substr(first_byte, last_byte - first_byte);
  if (cut) snippet.text += "…";
  for (const Match& match : matches) {
    if (match.begin < first_byte || match.end > last_byte) continue;
    snippet.marks.emplace_back(match.begin - first_byte + offset, match.end - first_byte + offset);
  }
  return snippet;
}

}  // namespace relucent::program
