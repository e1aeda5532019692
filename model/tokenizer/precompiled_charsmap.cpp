#include "model/tokenizer/precompiled_charsmap.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/character_table.h"

namespace relucent {
namespace {

// The fields of a unit.
constexpr bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
constexpr bool is_leaf(std::uint32_t unit) { return unit >> 31 != 0; }
constexpr std::uint32_t value(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
constexpr std::uint32_t label(std::uint32_t unit) { return unit & 0x800000FF; }
constexpr std::uint32_t offset(std::uint32_t unit) { return unit >> 10 << ((unit & 1 << 9) >> 6); }

/// Finds the ends of extended grapheme clusters (Unicode's UAX #29, rules GB3 to GB13).
class GraphemeClusters {
 public:
  explicit GraphemeClusters(std::string_view text) : text_(text) {}

  /// The end of the cluster that begins at `at`, the previous one's end.
  std::size_t end(std::size_t at) const {
    char32_t c = next_code_point(text_, at);
    const bool plain = c < 0x80 && c >= ' ';
    if (plain && (at == text_.size() || static_cast<std::uint8_t>(text_[at]) < 0x80)) return at;
    BreakClass left = table_.break_class(c);
    bool after_pictograph = table_.is_pictographic(c);  // then any number of `extend`
    bool joined_pictograph = false;                     // then one `zwj`
    bool odd_indicators = left == BreakClass::regional_indicator;
    while (at < text_.size()) {
      std::size_t next = at;
      c = next_code_point(text_, next);
      const BreakClass right = table_.break_class(c);
      const bool pictographic = table_.is_pictographic(c);
      if (breaks(left, right) && !(joined_pictograph && pictographic) &&
          !(odd_indicators && right == BreakClass::regional_indicator)) {
        break;
      }
      joined_pictograph = after_pictograph && right == BreakClass::zwj;
      after_pictograph = pictographic || (after_pictograph && right == BreakClass::extend);
      odd_indicators = right == BreakClass::regional_indicator && !odd_indicators;
      left = right;
      at = next;
    }
    return at;
  }

 private:
  static bool breaks(BreakClass left, BreakClass right) {
    using enum BreakClass;
    if (left == cr && right == lf) return false;
    const auto is_control = [](BreakClass c) { return c == control || c == cr || c == lf; };
    if (is_control(left) || is_control(right)) return true;
    if (right == extend || right == zwj || right == spacing_mark || left == prepend) return false;
    if (left == BreakClass::l && (right == BreakClass::l || right == v || right == lv || right == lvt)) return false;
    if ((left == lv || left == v) && (right == v || right == t)) return false;
    return !((left == lvt || left == t) && right == t);
  }

  std::string_view text_;
  const CharacterTable& table_ = CharacterTable::instance();
};

}  // namespace

std::optional<PrecompiledCharsmap> PrecompiledCharsmap::parse(std::string_view bytes) {
  std::uint32_t size = 0;
  if (bytes.size() < sizeof size) return std::nullopt;
  const auto read = [&](std::size_t at) {
    std::uint32_t unit;
    std::memcpy(&unit, bytes.data() + at, sizeof unit);
    return std::endian::native == std::endian::big ? __builtin_bswap32(unit) : unit;
  };
  size = read(0);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - 4) return std::nullopt;
  PrecompiledCharsmap map;
  map.trie_.resize(size / 4);
  for (std::size_t i = 0; i < map.trie_.size(); ++i) map.trie_[i] = read(4 + 4 * i);
  map.replacements_ = bytes.substr(4 + size);
  if (!is_well_formed_utf8(map.replacements_) || !map.replacements_.ends_with('\0')) return std::nullopt;
  for (std::size_t i = 0; i < map.trie_.size(); ++i) {
    const std::uint32_t unit = map.trie_[i];
    if (is_leaf(unit) && i > 0) continue;
    // Whatever byte comes next: the children differ from their base in the last eight bits.
    const std::size_t base = i ^ offset(unit);
    if ((base | 0xFF) >= map.trie_.size()) return std::nullopt;
    if (!has_leaf(unit)) continue;
    const std::size_t place = value(map.trie_[base]);
    if (place >= map.replacements_.size() || is_utf8_continuation(map.replacements_[place])) return std::nullopt;
    const std::size_t length = ::strnlen(map.replacements_.c_str() + place, kMaxReplacement + 1);
    if (length > kMaxReplacement) return std::nullopt;
    map.longest_ = std::max(map.longest_, length);
  }
  return map;
}

std::optional<std::string_view> PrecompiledCharsmap::find(std::string_view text) const noexcept {
  std::size_t node = offset(trie_[0]);
  for (const char c : text) {
    if (c == '\0') break;
    node ^= static_cast<std::uint8_t>(c);
    const std::uint32_t unit = trie_[node];
    if (label(unit) != static_cast<std::uint8_t>(c)) break;
    node ^= offset(unit);
    if (has_leaf(unit)) return replacements_.c_str() + value(trie_[node]);
  }
  return std::nullopt;
}

PrecompiledCharsmap::Beginning PrecompiledCharsmap::beginning_of(std::string_view text,
                                                                 std::size_t most) const noexcept {
  constexpr std::size_t kSpace = 3;
  if (text.size() * kSpace * longest_ <= most) return {text.size(), text.size() * kSpace * longest_};
  std::size_t made = 0, at = 0;
  while (at < text.size()) {
    const bool grows = text[at] == ' ' || static_cast<std::uint8_t>(text[at]) >= 0x80;
    std::size_t taken = decode_utf8(text, at).bytes, bytes = grows ? std::max(taken, kSpace) : taken;
    std::size_t node = offset(trie_[0]);
    for (std::size_t i = at; i < text.size() && text[i] != '\0'; ++i) {
      node ^= static_cast<std::uint8_t>(text[i]);
      const std::uint32_t unit = trie_[node];
      if (label(unit) != static_cast<std::uint8_t>(text[i])) break;
      node ^= offset(unit);
      if (!has_leaf(unit)) continue;
      taken = i + 1 - at;
      const std::string_view replacement = replacements_.c_str() + value(trie_[node]);
      bytes = replacement.size() + (kSpace - 1) * static_cast<std::size_t>(std::ranges::count(replacement, ' '));
    }
    if (at > 0 && made + bytes > most) return {at, made};
    made += bytes;
    at += taken;
  }
  return {text.size(), made};
}

void PrecompiledCharsmap::apply(std::string& text) const {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  const GraphemeClusters clusters(text);
  constexpr std::size_t kLongCluster = 6;  // bytes
  for (std::size_t at = 0, end; at < text.size(); at = end) {
    end = clusters.end(at);
    const std::string_view cluster = std::string_view(text).substr(at, end - at);
    if (cluster.size() < kLongCluster) {
      if (const auto found = find(cluster)) {
        result += *found;
        continue;
      }
    }
    for (std::size_t i = 0; i < cluster.size();) {
      const std::string_view character = cluster.substr(i, decode_utf8(cluster, i).bytes);
      const auto found = find(character);
      result += found ? *found : character;
      i += character.size();
    }
  }
  text = std::move(result);
}

bool PrecompiledCharsmap::keeps_words_apart() const {
  for (char c = ' '; c <= 'z'; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != ' ') continue;
    const auto found = find({&c, 1});
    if (found && !(letter && found->size() == 1 && ((*found)[0] | 0x20) == (c | 0x20))) return false;
  }
  return true;
}

bool PrecompiledCharsmap::nests_at_most(std::size_t most) const {
  // The children of a unit are those whose places, without their bytes, are its base.
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> first((trie_.size() | 0xFF) + 1, kNone), next(trie_.size(), kNone);
  for (std::uint32_t unit = 0; unit < trie_.size(); ++unit) {
    const std::uint32_t byte = label(trie_[unit]);
    if (byte > 0 && byte < 256) next[unit] = std::exchange(first[unit ^ byte], unit);
  }
  const auto first_child = [&](std::uint32_t unit) { return first[unit ^ offset(trie_[unit])]; };

  // Depth first. Subtrees may be shared; a damaged table may also have circles.
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> state(trie_.size(), kNew);
  std::vector<std::size_t> matches(trie_.size(), 0);  // on the way down from a unit
  struct Step {
    std::uint32_t unit, child;  // the child to look at
  };
  std::vector<Step> way{{0, first_child(0)}};
  state[0] = kOpen;
  while (!way.empty()) {
    auto& [unit, child] = way.back();
    if (child == kNone) {
      if (matches[unit] > most) return false;
      state[unit] = kDone;
      way.pop_back();  // the parent looks at this child again
    } else if (state[child] == kOpen) {
      return false;
    } else if (state[child] == kNew) {
      state[child] = kOpen;
      way.push_back({child, first_child(child)});
    } else {
      matches[unit] = std::max(matches[unit], matches[child] + (has_leaf(trie_[child]) ? 1 : 0));
      child = next[child];
    }
  }
  return true;
}

}  // namespace relucent
