#include "model/tokenizer/token_model.h"

#include <fmt/core.h>

#include "model/tokenizer/vocabulary_trie.h"

namespace relucent {

void check_vocabulary_size(const VocabularyEntries& entries, const Component& vocabulary) {
  std::size_t bytes = 0;
  for (std::size_t id = 0; id < entries.size(); ++id) {
    bytes += entries[id].size();
    if (entries[id].size() > VocabularyTrie::kMaxEntryBytes) {
      vocabulary.refuse(
          fmt::format("the entry with the id {} is longer than {} bytes", id, VocabularyTrie::kMaxEntryBytes));
    }
  }
  if (bytes > VocabularyTrie::kMaxBytes) vocabulary.refuse("the vocabulary is larger than 16 MiB");
}

VocabularyEntries read_vocabulary(const Component& model) {
  const Component vocabulary = model.at("vocab");
  if (!vocabulary.value().is_object()) vocabulary.fail("is not an object");
  VocabularyEntries entries;
  for (const auto& [entry, id] : vocabulary.value().items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxTokenId)) {
      vocabulary.fail(fmt::format("\"{}\" has the invalid id {}", entry, id.is_number() ? id.dump() : "(no number)"));
    }
    const auto place = id.get<std::size_t>();
    if (!is_plausible_id(place, vocabulary.value().size())) {
      vocabulary.fail(
          fmt::format("\"{}\" has the id {}, but there are only {} entries", entry, place, vocabulary.value().size()));
    }
    if (place >= entries.size()) entries.resize(place + 1);
    if (!entries[place].empty()) {
      vocabulary.fail(fmt::format("uses the id {} twice, for \"{}\" and \"{}\"", place, entries[place], entry));
    }
    if (entry.empty()) vocabulary.fail("has an empty entry");
    entries[place] = entry;
  }
  check_vocabulary_size(entries, vocabulary);
  return entries;
}

}  // namespace relucent
