#pragma once

#include <LuceneHeaders.h>

#include <filesystem>

namespace relucent {

/// An index folder's name as Lucene++ takes it, which is Unicode alone. Throws Error `io` for a name that is not UTF-8:
/// in Lucene++ it would be the name of another folder.
Lucene::String to_lucene_folder(const std::filesystem::path& folder);

}  // namespace relucent
