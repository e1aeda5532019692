#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// One document per line: id, tab, text. Further tabs belong to the text. Empty lines are skipped.
std::unique_ptr<DocumentReader> read_tsv(LineReader& lines);

/// MS MARCO's passage collection (collection.tsv): exactly two columns, double encoding undone as ir_datasets does.
std::unique_ptr<DocumentReader> read_msmarco_passage(LineReader& lines);

/// MS MARCO's documents as a table (msmarco-docs.tsv): id, url, title, body. The text is title and body, separated
/// by a space.
std::unique_ptr<DocumentReader> read_msmarco_document_table(LineReader& lines);

/// ANTIQUE (antique-collection.txt): exactly two columns, id and text.
std::unique_ptr<DocumentReader> read_antique(LineReader& lines);

/// NFCorpus (raw/doc_dump.txt): id, url, title, abstract. The text is title, a space, and abstract.
std::unique_ptr<DocumentReader> read_nfcorpus(LineReader& lines);

}  // namespace relucent::index_tools
