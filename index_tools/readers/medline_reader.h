#pragma once

#include "index_tools/readers/document_reader.h"

namespace relucent::index_tools {

/// MEDLINE in any of the forms in which it comes, told apart by their start: XML (a MedlineCitation each),
/// the abstracts of AACR and ASCO that belong to the collection of 2017 (one a file, named by the file), and
/// MEDLINE's display format (PMID, TI, AB). The text is title, a space, abstract, as ir_datasets reads
/// medline/2004 and medline/2017.
std::unique_ptr<DocumentReader> read_medline(const CorpusPart& part);

}  // namespace relucent::index_tools
