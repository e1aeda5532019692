#pragma once

#include <memory>
#include <string>
#include <vector>

#include "relucent/config.h"
#include "server/engine.h"

namespace relucent::server {

/// An engine whose index is divided among other servers, its shards (`relucent serve --index`), which search by BM25
/// with the statistics of the whole collection. Their hits become one list, whose best ones this engine's own model
/// rescores, so that every score is that of one index of all documents. Equal BM25 scores keep the order of the shards.
/// @param urls   http://HOST:PORT, in the order of the documents
/// @param token  for the shards; empty: none
/// Throws Error: `usage` for an address, `unsupported` for a model that needs more than texts.
std::shared_ptr<Engine> open_shards(const std::vector<std::string>& urls, const std::string& token,
                                    const Config& config);

}  // namespace relucent::server
