#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/tokenizer/wordpiece.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/text_input.h"

namespace relucent::fuzz {

/// A folder below scratch() whose tokenizer is of a class of transformers.
inline std::filesystem::path tokenizer_folder(const std::string& name, const std::string& tokenizer_class) {
  std::filesystem::create_directories(scratch() / name);
  scratch_file(name + "/tokenizer_config.json", "{\"tokenizer_class\": \"" + tokenizer_class + "\"}");
  return scratch() / name;
}

/// The same ids with places, which are in the text.
inline void check_places(const WordPieceTokenizer& tokenizer, std::string_view text, std::size_t limit,
                         const std::vector<std::int32_t>& ids) {
  std::vector<std::int32_t> again;
  std::vector<CodePoints> places;
  tokenizer.encode_with_places(text, limit, again, places);
  if (again != ids) report("other ids with places");
  if (places.size() != ids.size()) report("another number of places than of ids");
  for (const CodePoints& place : places) {
    if (place.begin >= place.end || place.end > text.size()) report("a place outside the text");
  }
}

/// Every id of a text is in the vocabulary, and a limit holds.
inline void check_encoding(const Tokenizer& tokenizer, std::string_view text) {
  constexpr std::size_t limit = 300;
  for (const std::string_view each :
       {text, std::string_view("Don't caf\u00e9 \u5317\u4eac 12\xFF\u2581x\u0301\ufb01\n")}) {
    std::vector<std::int32_t> ids;
    tokenizer.encode(each, limit, ids);
    if (ids.size() > limit) report("more ids than the limit");
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= tokenizer.vocabulary_size()) report("an id outside the vocabulary: " + std::to_string(id));
    }
    if (const auto* words = dynamic_cast<const WordPieceTokenizer*>(&tokenizer)) check_places(*words, each, limit, ids);
  }
}

}  // namespace relucent::fuzz
