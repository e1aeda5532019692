#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexSearcher.h>

#include <filesystem>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// The one call a host needs: an IndexSearcher over `index` whose search() returns BM25 hits, rescored as `config` says
/// (plain BM25 with [rescorer] enabled = false). Existing code that holds an IndexSearcherPtr runs unchanged.
/// Throws Error naming the file and the remedy.
RELUCENT_API Lucene::IndexSearcherPtr openSearcher(const std::filesystem::path& index, const Config& config);
/// The same with a TOML profile; an empty `index` means [index] path.
RELUCENT_API Lucene::IndexSearcherPtr openSearcher(const std::filesystem::path& index,
                                                   const std::filesystem::path& config_file);

}  // namespace relucent
