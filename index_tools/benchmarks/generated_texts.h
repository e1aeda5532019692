#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace relucent::benchmarks {

struct GeneratedTexts {
  std::string query;
  std::vector<std::string> documents;
};

/// A query and documents of which each input has exactly `tokens` tokens, special tokens included, for the checkpoint
/// in `model`: words of its vocabulary from a fixed seed. `query_tokens` is at most 30. Throws Error if the vocabulary
/// cannot be read, `usage` if `tokens` leaves no room for a document.
GeneratedTexts generate_texts(const std::filesystem::path& model, int candidates, int tokens, int query_tokens);

}  // namespace relucent::benchmarks
