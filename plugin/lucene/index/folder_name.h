#pragma once

#include <LuceneHeaders.h>

#include <filesystem>

namespace relucent {

/// An index folder's name as a Lucene++ string, which must be Unicode. Throws Error `io` for a name that is not UTF-8,
/// because Lucene++ would use a different folder.
Lucene::String to_lucene_folder(const std::filesystem::path& folder);

}  // namespace relucent
