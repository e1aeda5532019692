#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexSearcher.h>

#include <filesystem>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {
// NOLINTBEGIN(readability-identifier-naming): in the style of Lucene++, whose users call this

/// The one call a host needs. Returns an IndexSearcher over `index` whose search() returns BM25 hits rescored according
/// to `config` (plain BM25 with [rescorer] enabled = false). Code that holds an IndexSearcherPtr needs no change.
/// An empty `index` means [index] path. Throws Error naming the file and the remedy.
RELUCENT_API Lucene::IndexSearcherPtr openSearcher(const std::filesystem::path& index, const Config& config);
/// The same with the configuration of a TOML profile.
RELUCENT_API Lucene::IndexSearcherPtr openSearcher(const std::filesystem::path& index,
                                                   const std::filesystem::path& config_file);

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
