// Token ids of small tokenizers of every kind against those of Hugging Face's tokenizers and of SentencePiece.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/utf8.h"
#include "model/tokenizer/base64.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/piece_places.h"
#include "tests/support/gz_lines.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() / 2;
constexpr std::int32_t kAnySize = 1 << 24;

/// The CRC-32 of gzip and Python's zlib.
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

std::uint32_t digest(const std::vector<std::int32_t>& ids) {
  return crc32({reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(std::int32_t)});
}

struct Case {
  std::string name, file, model_type;
  nlohmann::json pair;
};

std::vector<Case> cases() {
  std::vector<Case> cases;
  std::ifstream in("tests/goldens/tokenizers/cases.json");
  for (const auto& each : nlohmann::json::parse(in)) {
    cases.push_back({each["name"], each["file"], each["model_type"], each["template"]});
  }
  return cases;
}

/// The texts, as bytes.
const std::vector<std::string>& texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> read;
    for_each_line("tests/goldens/tokenizers/texts.jsonl.gz", [&](const std::string& line) {
      const auto row = nlohmann::json::parse(line);
      read.push_back(row.contains("text") ? row["text"].get<std::string>()
                                          : decode_base64(row["bytes"].get<std::string>()).value());
    });
    return read;
  }();
  return texts;
}

class TokenizersGolden : public ::testing::TestWithParam<Case> {
 protected:
  /// The tokenizer of a checkpoint folder that holds nothing else.
  std::unique_ptr<const Tokenizer> load() const {
    const fs::path file = "tests/goldens/tokenizers/" + GetParam().file;
    const TemporaryFolder folder;
    if (file.extension() == ".gz") {
      std::string json;
      for_each_line(file, [&](const std::string& line) { json += line + "\n"; });
      std::ofstream(folder / "tokenizer.json", std::ios::binary) << json;
      // The file as it is, whatever the family's own class would make of it.
      std::ofstream(folder / "tokenizer_config.json") << R"({"tokenizer_class": "PreTrainedTokenizerFast"})";
    } else {
      fs::copy_file(file, folder / "a.model");
    }
    return std::move(load_tokenizer(folder.path(), kAnySize, GetParam().model_type).tokenizer);
  }
};

TEST_P(TokenizersGolden, EveryTextHasTheOtherProgramsIds) {
  const auto tokenizer = load();
  const std::string stored = bytes_of("tests/goldens/tokenizers/" + GetParam().name + ".crc");
  ASSERT_EQ(stored.size(), 4 * texts().size());
  ASSERT_GE(texts().size(), 20000U);
  std::size_t wrong = 0, tokens = 0, bytes = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < texts().size(); ++i) {
    std::vector<std::int32_t> ids;
    EXPECT_FALSE(tokenizer->encode(texts()[i], kNoLimit, ids));
    tokens += ids.size();
    bytes += texts()[i].size();
    std::uint32_t expected = 0;
    for (std::size_t byte = 4; byte-- > 0;) expected = expected << 8 | static_cast<std::uint8_t>(stored[4 * i + byte]);
    if (digest(ids) == expected) continue;
    if (++wrong > 5) continue;
    ADD_FAILURE() << "make.py --show " << GetParam().name << " " << i + 1 << ": "
                  << ::testing::PrintToString(texts()[i].substr(0, 300)) << "\n"
                  << ::testing::PrintToString(ids).substr(0, 600);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(wrong, 0U) << "of " << texts().size();
  std::cout << GetParam().name << ": " << texts().size() << " texts, " << tokens << " ids, "
            << static_cast<double>(bytes) / time.count() / 1e6 << " MB/s\n";
}

TEST_P(TokenizersGolden, ALimitGivesTheFirstIds) {
  const auto tokenizer = load();
  for (std::size_t i = 0; i<texts().size(); i += texts()[i].size()> 4000 ? 1 : 53) {
    std::vector<std::int32_t> all;
    tokenizer->encode(texts()[i], kNoLimit, all);
    for (const std::size_t limit : {all.size(), all.size() / 2, std::size_t{3}, std::size_t{0}}) {
      std::vector<std::int32_t> ids{7};
      EXPECT_EQ(tokenizer->encode(texts()[i], limit, ids), limit < all.size()) << i << " " << limit;
      std::vector<std::int32_t> expected{7};
      expected.insert(expected.end(), all.begin(),
                      all.begin() + static_cast<std::ptrdiff_t>(std::min(limit, all.size())));
      EXPECT_EQ(ids, expected) << i << " " << limit;
    }
    for (const std::int32_t id : all) ASSERT_TRUE(id >= 0 && id < tokenizer->vocabulary_size());
  }
}

std::vector<std::int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, kNoLimit, ids);
  return ids;
}

TEST_P(TokenizersGolden, ThePlaceOfWordsIsTheirs) {
  const auto tokenizer = load();
  // Without a pre-tokenizer a word has other pieces alone than in its text.
  const bool cuts = GetParam().name != "byte-fallback" && GetParam().name != "word-continuations";
  std::mt19937 random(1);
  for (std::size_t count : {1, 2, 7, 40, 300}) {
    std::string text(random() % 3, ' ');
    std::vector<TextRange> words;
    std::vector<std::size_t> pieces{0};  // before each word
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += ' ';
      const std::size_t begin = text.size();
      for (std::size_t letters = 1 + random() % 12; letters > 0; --letters) {
        text += static_cast<char>((random() % 5 == 0 ? 'A' : 'a') + random() % 26);
      }
      words.push_back({begin, text.size()});
      pieces.push_back(ids_of(*tokenizer, text).size());
    }
    const std::size_t last = count - 1;
    EXPECT_EQ(place_of_pieces(*tokenizer, text, {0, pieces[count], true}, {}),
              (TextRange{words[0].begin, words[last].end}));
    for (int trial = 0; trial < 30; ++trial) {
      const std::size_t from = random() % count, to = from + random() % (count - from);
      if (pieces[from] == pieces[to + 1]) continue;
      const TextRange place = place_of_pieces(*tokenizer, text, {pieces[from], pieces[to + 1]}, {});
      EXPECT_LE(place.begin, words[from].begin);
      EXPECT_GE(place.end, words[to].end);
      EXPECT_LE(place.end - place.begin, words[to].end - words[from].begin + 300);
      if (!cuts) continue;
      EXPECT_EQ(place, (TextRange{words[from].begin, words[to].end})) << from << " to " << to << " of " << text;
      // Part of a word's pieces: at least the parts of the text that they come from, at most the whole word.
      const TextRange part = place_of_pieces(*tokenizer, text, {pieces[to + 1] - 1, pieces[to + 1]}, {});
      EXPECT_GE(part.begin, words[to].begin);
      EXPECT_EQ(part.end, words[to].end);
    }
  }
}

TEST_P(TokenizersGolden, APlaceIsARangeOfWholeCharactersInEveryText) {
  const auto tokenizer = load();
  std::mt19937 random(2);
  std::size_t places = 0, same = 0;
  for (std::size_t i = 0; i<texts().size(); i += texts()[i].size()> 4000 ? 1 : 29) {
    const std::string& text = texts()[i];
    const auto ids = ids_of(*tokenizer, text);
    if (ids.empty()) {
      EXPECT_EQ(place_of_pieces(*tokenizer, text, {0, 0}, {}), TextRange());
      continue;
    }
    const std::size_t first = random() % ids.size(), end = first + 1 + random() % (ids.size() - first);
    const TextRange place = place_of_pieces(*tokenizer, text, {first, end}, {});
    ASSERT_LE(place.begin, place.end) << i;
    ASSERT_LE(place.end, text.size()) << i;
    const std::string_view before = std::string_view(text).substr(0, place.begin);
    const std::string_view within = std::string_view(text).substr(place.begin, place.end - place.begin);
    for (const std::size_t at : {place.begin, place.end}) {
      ASSERT_TRUE(at == text.size() || !is_utf8_continuation(text[at])) << i;
    }
    // Pieces do not lie outside it; what stands before it has no more pieces than those before the first.
    ++places;
    const auto again = ids_of(*tokenizer, within);
    const auto piece = ids.begin() + static_cast<std::ptrdiff_t>(first);
    const auto behind = ids.begin() + static_cast<std::ptrdiff_t>(end);
    const bool found = std::search(again.begin(), again.end(), piece, behind) != again.end();
    if (found && ids_of(*tokenizer, before).size() <= first) ++same;
  }
  std::cout << GetParam().name << ": " << same << " of " << places << " places have the pieces\n";
  EXPECT_GT(places, 700U);
  const bool word_piece = GetParam().name.starts_with("bert-") || GetParam().name.starts_with("wordpiece-");
  const bool whole_words = word_piece && GetParam().name != "bert-uncased-added";
  EXPECT_GE(same, whole_words ? places : places * 4 / 5);
}

TEST_P(TokenizersGolden, ThePairTemplateIsTheFiles) {
  const auto tokenizer = load();
  const PairTemplate& pair = tokenizer->pair_template();
  if (GetParam().pair.is_null()) {
    // RoBERTa's, the usual one of the cases without; a decoder has none.
    EXPECT_EQ(pair.size(), GetParam().model_type == "qwen3" ? 0U : 4U);
  } else {
    EXPECT_EQ(nlohmann::json({pair.before, pair.between, pair.after}), GetParam().pair);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizersGolden, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// Calls `use(tokenizer, row)` with every row of a golden file and the tokenizer of its SentencePiece model.
void for_each_sentencepiece_row(const fs::path& file, std::string_view model_type,
                                const std::function<void(const Tokenizer&, const nlohmann::json&)>& use) {
  std::map<std::string, std::unique_ptr<const Tokenizer>> tokenizers;
  for_each_line(file, [&](const std::string& line) {
    const auto row = nlohmann::json::parse(line);
    auto& tokenizer = tokenizers[row["model"].get<std::string>()];
    if (!tokenizer) {
      const TemporaryFolder folder;
      fs::copy_file(test_data() / "tokenizers/sentencepiece-fixtures" / row["model"].get<std::string>(),
                    folder / "a.model");
      // One of the models has no </s>, so its template needs another name. Only the family's own class is converted.
      std::ofstream(folder / "tokenizer_config.json")
          << R"({"eos_token": "a", "tokenizer_class": "PreTrainedTokenizerFast"})";
      tokenizer = std::move(load_tokenizer(folder.path(), kAnySize, model_type).tokenizer);
    }
    use(*tokenizer, row);
  });
}

TEST(SentencePieceGolden, EveryTextHasTheLibrarysIds) {
  const fs::path file = golden_path("tokenizer/sentencepiece.jsonl.gz");
  RELUCENT_NEEDS(file);
  RELUCENT_NEEDS(test_data() / "tokenizers/sentencepiece-fixtures");
  std::size_t rows = 0;
  for_each_sentencepiece_row(file, "t5", [&](const Tokenizer& tokenizer, const nlohmann::json& row) {
    ++rows;
    std::vector<std::int32_t> ids;
    tokenizer.encode(row["text"].get<std::string>(), kNoLimit, ids);
    EXPECT_EQ(ids, row["ids"].get<std::vector<std::int32_t>>()) << row["text"];
  });
  EXPECT_GT(rows, 10000U);
}

TEST(SentencePieceGolden, PairsOfXlmRobertaHaveFairseqsIds) {
  const fs::path file = golden_path("tokenizer/xlmr_pairs.jsonl.gz");
  RELUCENT_NEEDS(file);
  RELUCENT_NEEDS(test_data() / "tokenizers/sentencepiece-fixtures");
  std::size_t rows = 0;
  for_each_sentencepiece_row(file, "xlm-roberta", [&](const Tokenizer& tokenizer, const nlohmann::json& row) {
    ++rows;
    const PairTemplate& pair = tokenizer.pair_template();
    std::vector<std::int32_t> ids = pair.before;
    tokenizer.encode(row["query"].get<std::string>(), kNoLimit, ids);
    ids.insert(ids.end(), pair.between.begin(), pair.between.end());
    tokenizer.encode(row["doc"].get<std::string>(), kNoLimit, ids);
    ids.insert(ids.end(), pair.after.begin(), pair.after.end());
    EXPECT_EQ(ids, row["ids"].get<std::vector<std::int32_t>>()) << row;
  });
  EXPECT_GT(rows, 1000U);
}

}  // namespace
}  // namespace relucent::testing
