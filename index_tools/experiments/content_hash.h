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

/// A checksum of an index's last commit. Throws Error `io` if there is none.
std::uint64_t hash_of_index(const std::filesystem::path& folder);

/// A checksum over what the second stage reads of a query: its text and, in order, its candidates' ids, texts and
/// first-stage scores.
std::uint64_t hash_of_topic(const RerankQuery& query);

/// A checksum over the file that holds Relucent's code: the program or the shared library. Computed once per process.
/// Throws Error `io` if it cannot be read.
std::uint64_t hash_of_program();

/// Everything besides the topic that the scores follow from, in words: the settings, the models' contents, Relucent's
/// own code (where a GPU may be used, also its module's), and the kind of device that they resolve to here. Settings
/// that change no score are left out.
std::string description_of_scoring(const SecondStageConfig& config);

}  // namespace relucent::index_tools
