#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "tests/support/gz_lines.h"
#include "tests/support/indexing_support.h"

namespace relucent::testing {

/// What the corpus's own reader of bytes makes of a part called `name`.
inline ReadResult read_part(const std::string& corpus, const std::string& name, std::string bytes, unsigned seed = 1,
                            unsigned largest = 5000) {
  Pieces pieces(std::move(bytes), seed, largest);
  ReadResult result;
  const auto reader =
      std::get<index_tools::ReadBytes>(index_tools::find_corpus(corpus).read)({pieces, name, name, result.report});
  for (index_tools::Document document; reader->next(document);) result.documents.push_back(document);
  return result;
}

inline const std::filesystem::path& markup_answers() {
  static const std::filesystem::path folder = "tests/index_tools/corpora/golden_markup";
  return folder;
}

/// The corpora in markup whose inputs lie next to their expected texts, with the input's name.
inline std::set<std::pair<std::string, std::string>> markup_inputs() {
  std::set<std::pair<std::string, std::string>> found;
  for_each_line(markup_answers() / "expected.jsonl", [&](const std::string& line) {
    const auto answer = nlohmann::json::parse(line);
    found.emplace(answer.at("corpus"), answer.at("file"));
  });
  return found;
}

}  // namespace relucent::testing
