#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// CORD-19's metadata.csv: the id is `cord_uid`, the text `title`, a space, and `abstract`. A paper listed twice is two
/// documents with one id.
std::unique_ptr<DocumentReader> read_cord19(LineReader& lines);

/// The same with a space and the full text: heading and text of every section, joined by spaces. It is taken from the
/// first of `pmc_json_files`, or else of `pdf_json_files`, in folders beside metadata.csv, which must be unpacked.
/// Throws Error where metadata.csv lies in an archive.
std::unique_ptr<DocumentReader> read_cord19_fulltext(LineReader& lines);

}  // namespace relucent::index_tools
