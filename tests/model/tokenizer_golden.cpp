// Token ids against those of Hugging Face's tokenizers, string for string and code point for code point.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/utf8.h"
#include "model/tokenizer/load_tokenizer.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::int32_t kBertVocabulary = 30522;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() / 2;

std::vector<std::int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> ids;
  EXPECT_FALSE(tokenizer.encode(text, kNoLimit, ids));
  return ids;
}

/// The bundled model's vocabulary is bert-base-uncased's; the data folder has it as vocab.txt and as
/// tokenizer.json.
std::vector<fs::path> folders_with_the_vocabulary() {
  std::vector<fs::path> folders{"model/relucent-minilm-l6-w4"};
  if (const fs::path bert = test_data() / "tokenizers/bert-base-uncased"; fs::exists(bert)) folders.push_back(bert);
  return folders;
}

class WordPieceGolden : public ::testing::Test {
 protected:
  void SetUp() override { RELUCENT_NEEDS(golden_path("tokenizer")); }
};

TEST_F(WordPieceGolden, EveryStringHasHuggingFacesIds) {
  std::vector<fs::path> files;
  for (const fs::path& file : golden_listing("tokenizer")) {
    if (file.filename().string().starts_with("wordpiece")) files.push_back(file);
  }
  ASSERT_FALSE(files.empty());
  for (const fs::path& folder : folders_with_the_vocabulary()) {
    const auto loaded = load_tokenizer(folder, kBertVocabulary);
    std::size_t rows = 0, wrong = 0;
    for (const fs::path& file : files) {
      for_each_line(file, [&](const std::string& line) {
        const auto row = nlohmann::json::parse(line);
        const auto text = row["text"].get<std::string>();
        ++rows;
        const auto ids = ids_of(*loaded.tokenizer, text);
        if (ids == row["ids"].get<std::vector<std::int32_t>>()) return;
        if (++wrong <= 10) ADD_FAILURE() << file << " row " << rows << ": " << line.substr(0, 500);
      });
    }
    EXPECT_EQ(wrong, 0U) << "of " << rows << " with the vocabulary of " << folder;
    EXPECT_GT(rows, 0U);
    std::cout << rows << " strings with the vocabulary of " << folder << "\n";
  }
}

TEST_F(WordPieceGolden, EveryCodePointBetweenTwoLettersHasHuggingFacesIds) {
  const fs::path file = golden_path("tokenizer/codepoints.tsv");
  RELUCENT_NEEDS(file);
  const auto loaded = load_tokenizer("model/relucent-minilm-l6-w4", kBertVocabulary);
  std::size_t checked = 0, wrong = 0;
  for_each_line(file, [&](const std::string& line) {
    std::istringstream fields(line);
    char32_t first = 0, last = 0;
    std::uint32_t first_number = 0, last_number = 0;
    fields >> std::hex >> first_number >> last_number >> std::dec;
    first = first_number;
    last = last_number;
    const std::vector<std::int32_t> expected{std::istream_iterator<std::int32_t>(fields), {}};
    for (char32_t c = first; c <= last; ++c) {
      std::array<char, 6> bytes{'a'};
      char* end = append_utf8(c, bytes.data() + 1);
      *end++ = 'b';
      ++checked;
      const std::string_view text(bytes.data(), static_cast<std::size_t>(end - bytes.data()));
      if (ids_of(*loaded.tokenizer, text) == expected) continue;
      if (++wrong <= 10) ADD_FAILURE() << "U+" << std::hex << static_cast<std::uint32_t>(c);
    }
  });
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(checked, 0x110000U - 0x800U) << "every code point but the surrogates";
}

TEST_F(WordPieceGolden, TokenizerJsonOfAnotherModelGivesTheSameIds) {
  const fs::path folder = test_data() / "tokenizers/ms-marco-MiniLM-L-6-v2";
  RELUCENT_NEEDS(folder);
  const auto one = load_tokenizer(folder, kBertVocabulary);
  const auto other = load_tokenizer("model/relucent-minilm-l6-w4", kBertVocabulary);
  EXPECT_EQ(one.model_max_length, 512);
  EXPECT_EQ(one.tokenizer->summary(), "WordPiece, 30522 entries, lower-cased (tokenizer.json)");
  for (const std::string_view text : {"What is Unbelievable-ness?", "ÀÉÎ ßtraße 北京", "[SEP] embeddings"}) {
    EXPECT_EQ(ids_of(*one.tokenizer, text), ids_of(*other.tokenizer, text)) << text;
  }
}

}  // namespace
}  // namespace relucent::testing
