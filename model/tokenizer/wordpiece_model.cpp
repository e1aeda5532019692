#include "model/tokenizer/wordpiece_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"

namespace relucent {

WordPieceModel::WordPieceModel(const VocabularyEntries& entries, std::int32_t unknown,
                               std::string_view continuation_prefix, std::size_t max_characters)
    : trie_({entries.begin(), entries.end()}),
      continuation_(trie_.descend(VocabularyTrie::kRoot, continuation_prefix)),
      unknown_(unknown),
      max_characters_(max_characters) {}

void WordPieceModel::encode(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (word.size() > max_characters_ && count_code_points(word) > max_characters_) {
    ids.push_back(unknown_);
  } else {
    split(word, ids);
  }
}

void WordPieceModel::split(std::string_view text, std::vector<std::int32_t>& ids,
                           std::vector<std::size_t>* ends) const {
  const std::size_t before = ids.size();
  if (ends != nullptr) ends->clear();
  bool known = true;
  for (std::size_t begin = 0; known && begin < text.size();) {
    std::uint32_t node = begin == 0 ? VocabularyTrie::kRoot : continuation_;
    std::int32_t best = -1;
    std::size_t best_end = begin;
    for (std::size_t i = begin; i < text.size() && node != VocabularyTrie::kNone;) {
      node = trie_.child(node, text[i++]);
      if (node == VocabularyTrie::kNone) break;
      if (trie_.id(node) >= 0) {
        best = trie_.id(node);
        best_end = i;
      }
    }
    known = best >= 0;
    if (known) ids.push_back(best);
    if (ends != nullptr) ends->push_back(best_end);
    begin = best_end;
  }
  if (!known) {
    if (ends != nullptr) ends->clear();
    ids.resize(before);
    ids.push_back(unknown_);
  }
}

std::unique_ptr<const TokenModel> read_wordpiece_model(const Component& model, const VocabularyEntries& entries) {
  const std::string unknown = model.string("unk_token");
  const auto found = std::find(entries.begin(), entries.end(), unknown);
  if (found == entries.end()) model.at("unk_token").fail(fmt::format("the vocabulary has no entry {}", unknown));
  const auto most = static_cast<std::size_t>(model.integer("max_input_chars_per_word", 1 << 30));
  return std::make_unique<WordPieceModel>(entries, static_cast<std::int32_t>(found - entries.begin()),
                                          model.string("continuing_subword_prefix"), most);
}

}  // namespace relucent
