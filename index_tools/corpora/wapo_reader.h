#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// The Washington Post's collection (TREC_Washington_Post_collection.v2.jl): JSON lines, id `id`. The text is the
/// title, a space, and one line for each of the `contents` that has text: paragraphs (HTML as append_xml_text() has
/// it), captions of images, blurbs of videos and galleries, tweets. A title that is null is "None", as in ir_datasets'
/// texts.
std::unique_ptr<DocumentReader> read_wapo(LineReader& lines);

}  // namespace relucent::index_tools
