// Byte-pair encoding: the characters of a piece, of which adjacent pairs are merged in the order of a list.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <queue>

#include "base/utf8.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/vocabulary_trie.h"

namespace relucent {
namespace {

constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

/// The merges by their two ids.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank = kNoRank;
    std::int32_t id = -1;
  };

  explicit MergeTable(std::size_t merges) : slots_(std::bit_ceil(std::max<std::size_t>(2 * merges, 16))) {
    shift_ = 64 - std::countr_zero(slots_.size());
  }

  /// Whether the pair is new.
  bool add(std::int32_t left, std::int32_t right, Merge merge) {
    Slot& slot = slots_[place(key(left, right))];
    if (slot.merge.rank != kNoRank) return false;
    slot = {key(left, right), merge};
    return true;
  }

  /// Rank kNoRank if the pair is not merged.
  Merge find(std::int32_t left, std::int32_t right) const noexcept { return slots_[place(key(left, right))].merge; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Merge merge;
  };

  static std::uint64_t key(std::int32_t left, std::int32_t right) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  }
  /// The pair's slot, or the free one where it would be.
  std::size_t place(std::uint64_t key) const noexcept {
    std::size_t slot = key * 0x9E3779B97F4A7C15U >> shift_;
    while (slots_[slot].merge.rank != kNoRank && slots_[slot].key != key) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  std::vector<Slot> slots_;  // open addressing, at most half full
  int shift_;
};

struct BpeSettings {
  std::string prefix, suffix;                          ///< of characters that are not the first, that are the last
  std::optional<std::int32_t> unknown;                 ///< nullopt: unknown characters vanish
  bool fuse_unknown = false;                           ///< several unknown characters are one id
  bool ignore_merges = false;                          ///< a piece that is an entry is that entry
  std::optional<std::array<std::int32_t, 256>> bytes;  ///< for the bytes of unknown characters; -1: no entry
};

class BpeModel final : public TokenModel {
 public:
  BpeModel(VocabularyTrie trie, MergeTable merges, BpeSettings settings)
      : trie_(std::move(trie)),
        merges_(std::move(merges)),
        settings_(std::move(settings)),
        prefix_(trie_.descend(VocabularyTrie::kRoot, settings_.prefix)) {}

  std::int32_t find(std::string_view entry) const noexcept override { return trie_.find(entry); }
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override {
    if (settings_.ignore_merges) {
      if (const std::int32_t id = trie_.find(piece); id >= 0) return ids.push_back(id);
    }
    const std::size_t begin = ids.size();
    add_characters(piece, ids);
    constexpr std::size_t kFewSymbols = 64;
    if (ids.size() - begin <= kFewSymbols) {
      merge_few<kFewSymbols>(ids, begin);
    } else {
      merge_many(ids, begin);
    }
  }

 private:
  void add_characters(std::string_view piece, std::vector<std::int32_t>& ids) const;
  bool add_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const;
  template <std::size_t Most>
  void merge_few(std::vector<std::int32_t>& ids, std::size_t begin) const;
  void merge_many(std::vector<std::int32_t>& ids, std::size_t begin) const;

  VocabularyTrie trie_;
  MergeTable merges_;
  BpeSettings settings_;
  std::uint32_t prefix_;
};

/// Appends the ids of the bytes if all have one.
bool BpeModel::add_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const {
  if (!settings_.bytes) return false;
  const auto id_of = [&](char byte) { return (*settings_.bytes)[static_cast<std::uint8_t>(byte)]; };
  if (std::any_of(bytes.begin(), bytes.end(), [&](char byte) { return id_of(byte) < 0; })) return false;
  for (const char byte : bytes) ids.push_back(id_of(byte));
  return true;
}

void BpeModel::add_characters(std::string_view piece, std::vector<std::int32_t>& ids) const {
  bool unknown_waits = false;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t size = decode_utf8(piece, at).bytes;
    const std::string_view character = piece.substr(at, size);
    const bool first = at == 0, last = at + size == piece.size();
    std::uint32_t node = first ? VocabularyTrie::kRoot : prefix_;
    if (node != VocabularyTrie::kNone) node = trie_.descend(node, character);
    if (node != VocabularyTrie::kNone && last) node = trie_.descend(node, settings_.suffix);
    at += size;
    if (node != VocabularyTrie::kNone && trie_.id(node) >= 0) {
      if (unknown_waits) ids.push_back(*settings_.unknown);
      unknown_waits = false;
      ids.push_back(trie_.id(node));
      continue;
    }
    std::string written;
    if (settings_.bytes) written = (first ? "" : settings_.prefix) + std::string(character);
    if (settings_.bytes && last) written += settings_.suffix;
    // As in Hugging Face's library, an unknown character before the bytes stands behind them.
    if (add_bytes(written, ids) || !settings_.unknown) continue;
    if (unknown_waits && !settings_.fuse_unknown) ids.push_back(*settings_.unknown);
    unknown_waits = true;
  }
  if (unknown_waits) ids.push_back(*settings_.unknown);
}

/// Merges the pair of the lowest rank, the leftmost of several, until none is left.
template <std::size_t Most>
void BpeModel::merge_few(std::vector<std::int32_t>& ids, std::size_t begin) const {
  std::int32_t* const symbols = ids.data() + begin;
  std::size_t size = ids.size() - begin;
  std::array<MergeTable::Merge, Most> merges;  // of each symbol with the next
  for (std::size_t i = 0; i + 1 < size; ++i) merges[i] = merges_.find(symbols[i], symbols[i + 1]);
  while (size > 1) {
    const auto best = std::min_element(merges.begin(), merges.begin() + static_cast<std::ptrdiff_t>(size - 1),
                                       [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (best->rank == kNoRank) break;
    const auto at = static_cast<std::size_t>(best - merges.begin());
    symbols[at] = best->id;
    std::copy(symbols + at + 2, symbols + size, symbols + at + 1);
    std::copy(merges.begin() + static_cast<std::ptrdiff_t>(at) + 1,
              merges.begin() + static_cast<std::ptrdiff_t>(size) - 1, merges.begin() + static_cast<std::ptrdiff_t>(at));
    --size;
    if (at > 0) merges[at - 1] = merges_.find(symbols[at - 1], symbols[at]);
    if (at + 1 < size) merges[at] = merges_.find(symbols[at], symbols[at + 1]);
  }
  ids.resize(begin + size);
}

/// The same in a time that does not grow with the square of the number of symbols.
void BpeModel::merge_many(std::vector<std::int32_t>& ids, std::size_t begin) const {
  struct Symbol {
    std::int32_t id;
    std::size_t previous, next;
  };
  struct PendingMerge {
    std::uint32_t rank;
    std::size_t left;
    std::int32_t left_id, right_id;  // outdated if the symbols have others by now

    bool operator<(const PendingMerge& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  constexpr std::int32_t kMerged = -1;
  std::vector<Symbol> symbols;
  symbols.reserve(ids.size() - begin);
  for (std::size_t i = begin; i < ids.size(); ++i) {
    const std::size_t place = i - begin;
    symbols.push_back({ids[i], place == 0 ? kNone : place - 1, i + 1 == ids.size() ? kNone : place + 1});
  }
  std::priority_queue<PendingMerge> candidates;
  const auto consider = [&](std::size_t left, std::size_t right) {
    if (left == kNone || right == kNone) return;
    const MergeTable::Merge merge = merges_.find(symbols[left].id, symbols[right].id);
    if (merge.rank != kNoRank) candidates.push({merge.rank, left, symbols[left].id, symbols[right].id});
  };
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) consider(i, i + 1);
  while (!candidates.empty()) {
    const PendingMerge best = candidates.top();
    candidates.pop();
    Symbol& left = symbols[best.left];
    if (left.id != best.left_id || left.next == kNone || symbols[left.next].id != best.right_id) continue;
    Symbol& right = symbols[left.next];
    left.id = merges_.find(left.id, right.id).id;
    right.id = kMerged;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = best.left;
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
  ids.resize(begin);
  for (const Symbol& symbol : symbols) {
    if (symbol.id != kMerged) ids.push_back(symbol.id);
  }
}

/// A merge's two parts: "a b", or ["a", "b"].
std::pair<std::string, std::string> read_merge(const Component& merge) {
  const nlohmann::json& value = merge.value();
  if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
    return {value[0].get<std::string>(), value[1].get<std::string>()};
  }
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  merge.fail("is not a pair of entries");
}

MergeTable read_merges(const Component& model, const VocabularyTrie& trie, const std::string& prefix) {
  const Component list = model.at("merges");
  if (!list.value().is_array()) list.fail("is not an array");
  MergeTable merges(list.value().size());
  std::uint32_t rank = 0;
  for (const nlohmann::json& value : list.value()) {
    const auto merge = [&] { return Component(list.file(), value, fmt::format("{}[{}]", list.place(), rank)); };
    const bool header = value.is_string() && value.get_ref<const std::string&>().starts_with("#version");
    if (header && rank == 0) continue;
    const bool pair = value.is_array() || value.is_string();
    if (!pair) merge().fail("is not a pair of entries");
    const auto [left, right] = read_merge(merge());
    if (!right.starts_with(prefix)) merge().fail(fmt::format("\"{}\" does not begin with {}", right, prefix));
    const auto find = [&](const std::string& entry) {
      const std::int32_t id = trie.find(entry);
      if (id < 0) merge().fail(fmt::format("the vocabulary has no entry \"{}\"", entry));
      return id;
    };
    const std::int32_t left_id = find(left), right_id = find(right), id = find(left + right.substr(prefix.size()));
    if (id == left_id || id == right_id) merge().fail("merges an entry into itself");
    if (!merges.add(left_id, right_id, {rank, id})) merge().fail(fmt::format("repeats \"{} {}\"", left, right));
    ++rank;
  }
  return merges;
}

/// With bytes for unknown characters, each character of a text becomes as many ids as it has bytes with its affix.
std::string read_affix(const Component& model, const char* name) {
  constexpr std::size_t most = 128;
  std::string affix = model.string(name, "");
  if (affix.size() > most) model.at(name).refuse(fmt::format("is longer than {} bytes", most));
  return affix;
}

}  // namespace

std::unique_ptr<const TokenModel> read_bpe_model(const Component& model, const VocabularyEntries& entries) {
  if (const auto dropout = model.find("dropout"); dropout && dropout->number() != 0) {
    dropout->refuse("ids that change from call to call are not supported");
  }
  VocabularyTrie trie({entries.begin(), entries.end()});
  BpeSettings settings;
  settings.prefix = read_affix(model, "continuing_subword_prefix");
  settings.suffix = read_affix(model, "end_of_word_suffix");
  settings.fuse_unknown = model.boolean("fuse_unk", false);
  settings.ignore_merges = model.boolean("ignore_merges", false);
  if (const auto unknown = model.find("unk_token")) {
    settings.unknown = trie.find(unknown->text());
    if (*settings.unknown < 0) unknown->fail(fmt::format("the vocabulary has no entry {}", unknown->text()));
  }
  if (model.boolean("byte_fallback", false)) {
    auto& bytes = settings.bytes.emplace();
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
      bytes[byte] = trie.find(fmt::format("<0x{:02X}>", byte));
    }
  }
  MergeTable merges = read_merges(model, trie, settings.prefix);
  return std::make_unique<BpeModel>(std::move(trie), std::move(merges), std::move(settings));
}

}  // namespace relucent
