#pragma once

#include "index_tools/indexing/encode_index.h"
#include "relucent/config.h"

namespace relucent::program {

/// Encodes the documents of an index with the model of the profile, until SIGINT. Throws Error: `usage` if the
/// profile's models encode no documents ahead.
index_tools::EncodeSummary encode_documents(const std::filesystem::path& index, const Config& config,
                                            EmbeddingNumbers numbers, bool quiet);

/// For people.
void print_encoded(const std::filesystem::path& index, const index_tools::EncodeSummary& summary);

}  // namespace relucent::program
