#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <filesystem>

#include "relucent/export.h"

namespace relucent {

/// Opens an index folder for reading, at the newest commit whose files are there with their sizes. Throws Error: `io`
/// where the folder is missing or cannot be read, `invalid_data` where it holds no index or a damaged one.
RELUCENT_API Lucene::IndexReaderPtr open_reader(const std::filesystem::path& folder);

}  // namespace relucent
