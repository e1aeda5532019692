#pragma once

// What ir_datasets makes of pieces of the corpora, and records that its own tests keep of the whole corpora.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent::testing {

/// The lines of an answers file, by the corpus and the member `input` of each.
inline std::map<std::pair<std::string, std::string>, std::vector<nlohmann::json>> corpus_answers(
    const std::filesystem::path& file, const char* input) {
  std::map<std::pair<std::string, std::string>, std::vector<nlohmann::json>> found;
  for_each_line(file, [&](const std::string& line) {
    nlohmann::json answer = nlohmann::json::parse(line);
    found[{answer.at("corpus"), answer.at(input)}].push_back(std::move(answer));
  });
  return found;
}

inline const std::filesystem::path& corpus_samples() {
  static const std::filesystem::path folder = test_data() / "formats/irds-integration-samples";
  return folder;
}

/// The samples ("index", "record") of documents of a dataset; `official` becomes the number of all its documents.
inline std::vector<nlohmann::json> sample_documents(const std::string& file, const std::string& dataset,
                                                    std::int64_t& official) {
  std::vector<nlohmann::json> samples;
  for_each_line(corpus_samples() / file, [&](const std::string& line) {
    nlohmann::json sample = nlohmann::json::parse(line);
    if (sample.at("dataset") != dataset || sample.at("kind") != "docs") return;
    if (sample.contains("count") && !sample.at("count").is_null()) official = sample.at("count").get<std::int64_t>();
    if (sample.contains("record")) samples.push_back(std::move(sample));
  });
  return samples;
}

/// Their records alone.
inline std::vector<nlohmann::json> sample_records(const std::string& file, const std::string& dataset,
                                                  std::int64_t& official) {
  std::vector<nlohmann::json> records;
  for (nlohmann::json& sample : sample_documents(file, dataset, official))
    records.push_back(std::move(sample.at("record")));
  return records;
}

}  // namespace relucent::testing
