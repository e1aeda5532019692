// Unigram: the segmentation of a piece into entries whose scores have the greatest sum.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/utf8.h"
#include "model/tokenizer/token_model.h"
#include "model/tokenizer/vocabulary_trie.h"

namespace relucent {
namespace {

class UnigramModel final : public TokenModel {
 public:
  UnigramModel(const std::vector<std::string_view>& entries, std::vector<double> scores,
               std::optional<std::int32_t> unknown, std::optional<std::array<std::int32_t, 256>> bytes)
      : trie_(entries), scores_(std::move(scores)), unknown_(unknown), bytes_(bytes) {
    double least = std::numeric_limits<double>::infinity();
    for (const double score : scores_) least = std::min(least, score);
    constexpr double kPenalty = 10;
    unknown_score_ = least - kPenalty;
  }

  std::int32_t find(std::string_view entry) const noexcept override { return trie_.find(entry); }
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override {
    constexpr std::size_t kShort = 256;
    if (piece.size() < kShort) {
      std::array<Node, kShort> nodes;  // only the first ones are set
      std::fill_n(nodes.begin(), piece.size() + 1, kUnreached);
      encode(piece, nodes.data(), ids);
    } else {
      std::vector<Node> nodes(piece.size() + 1, kUnreached);
      encode(piece, nodes.data(), ids);
    }
  }

 private:
  /// The best segmentation that ends at a byte.
  struct Node {
    double score;
    std::uint32_t begin;  // of its last entry
    std::int32_t id;      // of that entry
  };
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  static constexpr Node kUnreached{0, kNowhere, 0};

  void encode(std::string_view piece, Node* nodes, std::vector<std::int32_t>& ids) const;
  void add_unknown(std::string_view text, std::vector<std::int32_t>& reversed) const;

  VocabularyTrie trie_;
  std::vector<double> scores_;
  std::optional<std::int32_t> unknown_;
  std::optional<std::array<std::int32_t, 256>> bytes_;
  double unknown_score_;
};

void UnigramModel::encode(std::string_view piece, Node* nodes, std::vector<std::int32_t>& ids) const {
  for (std::size_t begin = 0; begin < piece.size();) {
    const double score = nodes[begin].score;
    const std::size_t character = begin + decode_utf8(piece, begin).bytes;
    bool character_known = false;
    const auto reach = [&](std::size_t end, std::int32_t id, double entry_score) {
      Node& node = nodes[end];
      const double sum = entry_score + score;
      if (node.begin != kNowhere && !(sum > node.score)) return;
      node.score = sum;
      node.begin = static_cast<std::uint32_t>(begin);
      node.id = id;
    };
    std::uint32_t at = VocabularyTrie::kRoot;
    for (std::size_t end = begin; end < piece.size();) {
      at = trie_.child(at, piece[end++]);
      if (at == VocabularyTrie::kNone) break;
      const std::int32_t id = trie_.id(at);
      if (id < 0) continue;
      reach(end, id, scores_[static_cast<std::size_t>(id)]);
      character_known = character_known || end == character;
    }
    if (!character_known) reach(character, unknown_.value_or(-1), unknown_score_);
    begin = character;
  }

  // From the end to the start; a run of unknown characters is one entry.
  const std::size_t before = ids.size();
  for (std::size_t end = piece.size(); end > 0;) {
    std::size_t begin = nodes[end].begin;
    const std::int32_t id = nodes[end].id;
    if (id != unknown_.value_or(-1)) {
      ids.push_back(id);
    } else {
      while (begin > 0 && nodes[begin].id == id) begin = nodes[begin].begin;
      add_unknown(piece.substr(begin, end - begin), ids);
    }
    end = begin;
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end());
}

void UnigramModel::add_unknown(std::string_view text, std::vector<std::int32_t>& reversed) const {
  const std::uint32_t node = trie_.descend(VocabularyTrie::kRoot, text);
  if (node != VocabularyTrie::kNone && trie_.id(node) >= 0) return reversed.push_back(trie_.id(node));
  if (bytes_) {
    const auto id_of = [&](char byte) { return (*bytes_)[static_cast<std::uint8_t>(byte)]; };
    if (std::all_of(text.begin(), text.end(), [&](char byte) { return id_of(byte) >= 0; })) {
      for (std::size_t i = text.size(); i-- > 0;) reversed.push_back(id_of(text[i]));
      return;
    }
  }
  if (unknown_) reversed.push_back(*unknown_);
}

}  // namespace

UnigramVocabulary read_unigram_vocabulary(const Component& model) {
  const Component list = model.at("vocab");
  if (!list.value().is_array()) list.fail("is not an array");
  constexpr std::size_t kMaxEntryBytes = 1024;  // each is looked for at each character
  UnigramVocabulary vocabulary;
  for (const nlohmann::json& value : list.value()) {
    const auto fail = [&](const char* problem) {
      Component(list.file(), value, fmt::format("{}[{}]", list.place(), vocabulary.entries.size())).fail(problem);
    };
    if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_number()) {
      fail("is not an entry with a score");
    }
    auto entry = value[0].get<std::string>();
    const auto score = value[1].get<double>();
    if (entry.empty()) fail("is empty");
    if (entry.size() > kMaxEntryBytes) fail("is longer than 1024 bytes");
    if (!std::isfinite(score)) fail("has a score that is not finite");
    vocabulary.entries.push_back(std::move(entry));
    vocabulary.scores.push_back(score);
  }
  if (vocabulary.entries.empty()) list.fail("is empty");
  if (vocabulary.entries.size() > static_cast<std::size_t>(kMaxTokenId)) list.fail("has too many entries");
  check_vocabulary_size(vocabulary.entries, list);
  return vocabulary;
}

std::unique_ptr<const TokenModel> read_unigram_model(const Component& model, const UnigramVocabulary& vocabulary,
                                                     const std::vector<std::string>& special) {
  const auto& entries = vocabulary.entries;
  std::optional<std::int32_t> unknown;
  if (const auto id = model.find("unk_id")) {
    unknown = static_cast<std::int32_t>(id->integer(static_cast<std::int64_t>(entries.size()) - 1));
  }
  std::optional<std::array<std::int32_t, 256>> bytes;
  if (model.boolean("byte_fallback", false)) {
    bytes.emplace();
    for (std::size_t byte = 0; byte < bytes->size(); ++byte) {
      const auto found = std::find(entries.begin(), entries.end(), fmt::format("<0x{:02X}>", byte));
      (*bytes)[byte] = found == entries.end() ? -1 : static_cast<std::int32_t>(found - entries.begin());
    }
  }
  const std::unordered_set<std::string_view> hidden(special.begin(), special.end());
  std::vector<std::string_view> matching(entries.begin(), entries.end());
  for (std::string_view& entry : matching) {
    if (hidden.contains(entry)) entry = {};
  }
  return std::make_unique<UnigramModel>(matching, vocabulary.scores, unknown, bytes);
}

}  // namespace relucent
