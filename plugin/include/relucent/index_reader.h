#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <filesystem>

#include "relucent/export.h"
#include "relucent/index_check.h"

namespace relucent {

/// Opens an index folder for reading, at the newest commit whose files are there with their sizes. Throws Error: `io`
/// where the folder is missing or cannot be read, `invalid_data` where it holds no index or a damaged one.
///
/// Unless `check` is `none`, Lucene++, which damaged files crash, reads nothing unchecked: each block of a file of
/// IndexBuilder's is compared with its recorded checksum when it is first read, and a read of a damaged one throws
/// CorruptIndexException. Files of other programs are read through once per segment, their structure checked and their
/// checksums remembered in the folder's file relucent.checked; where that cannot be written, at each opening.
RELUCENT_API Lucene::IndexReaderPtr open_reader(const std::filesystem::path& folder,
                                                IndexCheck check = IndexCheck::structure);

}  // namespace relucent
