#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "index_tools/evaluation/rerank_input.h"
#include "relucent/config.h"

namespace relucent::index_tools {

/// A checksum over the names and bytes of a checkpoint's files. Throws Error `io` if the folder cannot be read or has
/// no files.
std::uint64_t hash_of_model(const std::filesystem::path& folder);

/// A checksum over what the second stage reads of a query: its text and, in order, its candidates' ids, texts and
/// first-stage scores.
std::uint64_t hash_of_topic(const RerankQuery& query);

/// Everything besides the topic that the scores follow from, in words: the settings, the models' contents, Relucent's
/// version, and the kind of device that they resolve to here. Settings that change no score are left out.
std::string description_of_scoring(const RescorerConfig& config);

}  // namespace relucent::index_tools
