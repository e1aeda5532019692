#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// The Washington Post's collection (TREC_Washington_Post_collection.v2.jl): JSON lines, id `id`. The text is the
/// title, a space, and one line per item of `contents` that has text: paragraphs (HTML as in append_xml_text()),
/// captions of images, blurbs of videos and galleries, tweets. A null title becomes "None", as in ir_datasets'
/// texts.
std::unique_ptr<DocumentReader> read_wapo(LineReader& lines);

}  // namespace relucent::index_tools
