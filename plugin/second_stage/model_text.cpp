#include "plugin/second_stage/model_text.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace relucent {

bool is_blank(std::string_view text, const StopSignal& stop) {
  constexpr std::size_t piece = 64 << 10;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (text.substr(0, piece).find_first_not_of(kWhiteSpace) != std::string_view::npos) return false;
    stop.throw_if_due("reading the stored texts");
  }
  return true;
}

ModelText join_fields(std::span<std::optional<std::string>> fields, const StopSignal& stop) {
  ModelText joined;
  joined.parts.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i] || is_blank(*fields[i], stop)) continue;
    if (joined.text.empty()) {
      joined.text = std::move(*fields[i]);
      joined.parts[i] = {0, joined.text.size()};
    } else {
      joined.text += ' ';
      joined.parts[i] = {joined.text.size(), joined.text.size() + fields[i]->size()};
      joined.text += *fields[i];
    }
  }
  return joined;
}

std::pair<std::size_t, TextRange> place_in_field(std::string_view text, std::span<const TextRange> parts,
                                                 const TextRange& range) {
  std::size_t best = 0;
  TextRange found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t begin = std::max(range.begin, parts[i].begin);
    const std::size_t end = std::min(range.end, parts[i].end);
    if (begin >= end || end - begin <= found.end - found.begin) continue;
    best = i;
    found = {begin, end};
  }
  while (found.begin < found.end && kWhiteSpace.find(text[found.begin]) != std::string_view::npos) ++found.begin;
  while (found.begin < found.end && kWhiteSpace.find(text[found.end - 1]) != std::string_view::npos) --found.end;
  const std::size_t first = parts.empty() ? 0 : parts[best].begin;
  return {best, {found.begin - std::min(first, found.begin), found.end - std::min(first, found.end)}};
}

}  // namespace relucent
