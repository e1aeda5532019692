#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// CORD-19's metadata.csv: the id is `cord_uid`, the text `title`, a space, and `abstract`. A paper listed twice gives
/// two documents with the same id.
std::unique_ptr<DocumentReader> read_cord19(LineReader& lines);

/// The same, followed by a space and the full text: heading and text of every section, joined by spaces. The full text
/// comes from the first of `pmc_json_files`, else of `pdf_json_files`, in unpacked folders next to metadata.csv.
/// Throws Error if metadata.csv is inside an archive.
std::unique_ptr<DocumentReader> read_cord19_fulltext(LineReader& lines);

}  // namespace relucent::index_tools
