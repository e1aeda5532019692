#pragma once

#include "index_tools/readers/document_reader.h"

namespace relucent::index_tools {

/// One document a line: id, tab, text. Further tabs belong to the text. Empty lines are passed over.
std::unique_ptr<DocumentReader> read_tsv(LineReader& lines);

/// MS MARCO's passage collection (collection.tsv): exactly two columns, double encoding undone as ir_datasets does.
std::unique_ptr<DocumentReader> read_msmarco_passage(LineReader& lines);

}  // namespace relucent::index_tools
