#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// MEDLINE in any of the forms in which it comes, told apart by their start: XML (a MedlineCitation each),
/// the abstracts of AACR and ASCO that belong to the collection of 2017 (one a file, named by the file), and
/// MEDLINE's display format (PMID, TI, AB). The text is title, a space, abstract, as ir_datasets reads
/// medline/2004 and medline/2017: of the XML what stands before the first element inside either, and the abstract's
/// first part.
std::unique_ptr<DocumentReader> read_medline(const CorpusPart& part);

/// The same forms, of the XML title and abstract whole: with the text inside elements such as <i> and <sup>, and with
/// all parts of an abstract, separated by a space.
std::unique_ptr<DocumentReader> read_pubmed(const CorpusPart& part);

}  // namespace relucent::index_tools
