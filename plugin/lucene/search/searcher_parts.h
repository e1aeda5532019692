#pragma once

#include <Lucene.h>

#include <IndexSearcher.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "relucent/config.h"
#include "relucent/rescorer.h"

namespace relucent {

/// `index`, or [index] path if it is empty. Throws Error `usage` if both are.
std::filesystem::path folder_to_search(const std::filesystem::path& index, const Config& config);

/// Called only if [rescorer] is enabled and the index has its text fields, since loading a model takes long.
using RescorerSource = std::function<std::shared_ptr<const Rescorer>()>;

/// What openSearcher() returns, for this reader of the folder. Throws what openSearcher() throws.
Lucene::IndexSearcherPtr make_searcher(const Lucene::IndexReaderPtr& reader, const Config& config,
                                       const std::filesystem::path& folder, const RescorerSource& rescorer);

}  // namespace relucent
