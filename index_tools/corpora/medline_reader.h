#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// MEDLINE in any of its formats, detected from the first bytes: XML (one MedlineCitation per document), the AACR and
/// ASCO abstracts of the 2017 collection (one per file, whose name is the id), and MEDLINE's display format (PMID, TI,
/// AB). The text is title, a space, abstract, as ir_datasets reads medline/2004 and medline/2017: in XML, the text
/// before the first element inside either, and only the first part of the abstract.
std::unique_ptr<DocumentReader> read_medline(const CorpusPart& part);

/// The same formats, but with whole titles and abstracts from XML: including the text inside elements such as <i> and
/// <sup>, and all parts of an abstract, separated by a space.
std::unique_ptr<DocumentReader> read_pubmed(const CorpusPart& part);

}  // namespace relucent::index_tools
