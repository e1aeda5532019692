#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <filesystem>

#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/index_check.h"

namespace relucent {

/// Opens an index folder for reading, at the newest commit whose files all exist with their recorded sizes. Throws
/// Error: `io` if the folder is missing or cannot be read, `invalid_data` if it holds no index or a damaged one.
///
/// Damaged files crash Lucene++, so unless `check` is `none` it reads nothing unchecked. Each block of a file written
/// by IndexBuilder is compared with its recorded checksum on the first read; reading a damaged block throws
/// CorruptIndexException. Files of other programs are read once per segment to check their structure. Their checksums
/// are then remembered in the folder's file relucent.checked; if that file cannot be written, every opening checks
/// again.
RELUCENT_API Lucene::IndexReaderPtr open_reader(const std::filesystem::path& folder,
                                                IndexCheck check = IndexCheck::structure);

/// The profile for searching this index: with the analyzer that the index records, if it does. Throws Error `usage`,
/// which names both, if the profile asks for another one: by [index] language, or by a [first_stage] analyzer that is
/// not the default.
RELUCENT_API Config config_of_index(const Lucene::IndexReaderPtr& reader, const Config& config);

}  // namespace relucent
