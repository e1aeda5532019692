#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace relucent::benchmarks {

struct GeneratedTexts {
  std::string query;
  std::vector<std::string> documents;
};

/// Tokens of a sentence of the QDS pattern with the one before it, as in the paper's Table 3.
inline constexpr int kSentenceTokens = 30;

/// A query and documents of which each input has exactly `tokens` tokens, special tokens included, for the checkpoint
/// in `model`: words of its vocabulary from a fixed seed. With `sentence_tokens`,
/// documents are sentences that end with "!", each of so many tokens together with the one that the QDS pattern puts
/// before it; the last one has up to two more, or fewer. Throws Error if the vocabulary cannot be read, `usage` if
/// `tokens` leaves no room for a document.
GeneratedTexts generate_texts(const std::filesystem::path& model, int candidates, int tokens, int query_tokens,
                              int sentence_tokens = 0);

/// Writes JSON lines with the query and one document each, for other programs. Throws Error `io`.
void write_pairs(const std::filesystem::path& file, const GeneratedTexts& texts);

}  // namespace relucent::benchmarks
