#include "index_tools/benchmarks/generated_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "relucent/error.h"
#include "relucent/model/tokenizer.h"

namespace relucent::benchmarks {
namespace {

constexpr std::string_view kCommonWords[] = {
    "time",  "year",   "people",   "way",    "day",   "man",     "thing",   "woman", "life",   "child",
    "world", "school", "state",    "family", "group", "country", "problem", "hand",  "part",   "place",
    "case",  "week",   "company",  "system", "work",  "number",  "night",   "point", "home",   "water",
    "room",  "mother", "area",     "money",  "story", "fact",    "month",   "right", "study",  "book",
    "job",   "word",   "business", "issue",  "side",  "kind",    "head",    "house", "friend", "father",
    "power", "hour",   "game",     "line",   "end",   "member",  "law",     "car",   "city",   "name"};

// Words that consist of one word piece each: a BERT vocabulary's own, of other tokenizers some common ones.
std::vector<std::string> whole_words(const std::filesystem::path& model) {
  std::vector<std::string> words;
  if (std::ifstream in(model / "vocab.txt"); in) {
    for (std::string line; std::getline(in, line);) {
      if (line.size() >= 3 && std::all_of(line.begin(), line.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
        words.push_back(line);
      }
    }
  } else {
    const auto tokenizer = load_checkpoint_tokenizer(model).tokenizer;
    for (const std::string_view word : kCommonWords) {
      // Whether a space before it changes the number of pieces depends on the tokenizer.
      std::vector<std::int32_t> ids;
      tokenizer->encode(fmt::format("{0} {0} {0}!", word), 10, ids);
      if (ids.size() == 4) words.emplace_back(word);
    }
  }
  if (words.empty()) {
    throw Error(ErrorKind::invalid_data, model.string(),
                "its tokenizer has no common English words, of which the benchmark makes its texts",
                "choose another --model");
  }
  return words;
}

std::string text_of(const std::vector<std::string>& words, int length, std::uint32_t& state) {
  std::string text;
  for (int i = 0; i < length; ++i) {
    state = state * 1664525U + 1013904223U;  // the "quick" generator of Numerical Recipes
    if (i != 0) text += ' ';
    text += words[(state >> 8) % words.size()];
  }
  return text;
}

// "!" ends a sentence even before a lower-case letter, which "." does not, and is one word piece.
std::string sentences_of(const std::vector<std::string>& words, int tokens, int sentence_tokens, std::uint32_t& state) {
  std::string text;
  while (tokens > 0) {
    // The rest must suffice for the token before a sentence, a word and "!".
    const int sentence = tokens >= sentence_tokens + 3 ? sentence_tokens : tokens;
    if (!text.empty()) text += ' ';
    text += text_of(words, std::max(1, sentence - 2), state) + "!";
    tokens -= sentence;
  }
  return text;
}

}  // namespace

GeneratedTexts generate_texts(const std::filesystem::path& model, int candidates, int tokens, int query_tokens,
                              int sentence_tokens) {
  if (tokens < query_tokens + 4 || query_tokens < 1 || candidates < 1) {
    throw Error(ErrorKind::usage, "bench model",
                "--tokens must leave room for the query, a word and three special tokens");
  }
  const auto words = whole_words(model);
  std::uint32_t state = 1;
  GeneratedTexts texts{text_of(words, query_tokens, state), {}};
  const int room = tokens - query_tokens - 3;
  for (int i = 0; i < candidates; ++i) {
    texts.documents.push_back(sentence_tokens > 0 ? sentences_of(words, room, sentence_tokens, state)
                                                  : text_of(words, room, state));
  }
  return texts;
}

void write_pairs(const std::filesystem::path& file, const GeneratedTexts& texts) {
  std::ofstream out(file);
  for (const std::string& document : texts.documents) {
    out << nlohmann::json{{"query", texts.query}, {"text", document}}.dump() << '\n';
  }
  if (!out.flush()) {
    throw Error(ErrorKind::io, file.string(), "cannot be written", "check the directory and the free space");
  }
}

}  // namespace relucent::benchmarks
