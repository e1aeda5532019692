#include "index_tools/benchmarks/generated_texts.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "relucent/error.h"

namespace relucent::benchmarks {
namespace {

// Words that consist of one word piece each.
std::vector<std::string> whole_words(const std::filesystem::path& model) {
  const auto file = model / "vocab.txt";
  std::ifstream in(file);
  if (!in)
    throw Error(ErrorKind::io, file.string(), "cannot be opened", "the benchmark generates its texts from this file");
  std::vector<std::string> words;
  for (std::string line; std::getline(in, line);) {
    if (line.size() >= 3 && std::all_of(line.begin(), line.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
      words.push_back(line);
    }
  }
  if (words.empty())
    throw Error(ErrorKind::invalid_data, file.string(), "contains no plain word of three letters or more",
                "choose another --model");
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

}  // namespace

GeneratedTexts generate_texts(const std::filesystem::path& model, int candidates, int tokens, int query_tokens) {
  if (tokens < query_tokens + 4 || query_tokens < 1 || candidates < 1) {
    throw Error(ErrorKind::usage, "bench model",
                "--tokens must leave room for the query, a word and three special tokens");
  }
  const auto words = whole_words(model);
  std::uint32_t state = 1;
  GeneratedTexts texts{text_of(words, query_tokens, state), {}};
  for (int i = 0; i < candidates; ++i) {
    texts.documents.push_back(text_of(words, tokens - query_tokens - 3, state));
  }
  return texts;
}

}  // namespace relucent::benchmarks
