#pragma once

#include <string_view>

#include "index_tools/corpora/converted_text.h"

namespace relucent::index_tools {

/// The text of a Word document (DOCX: Office Open XML, transitional or strict): its body, footnotes and endnotes, one
/// line per paragraph. Deleted text, instructions of fields and second versions of drawings are left out. `docx` is the
/// whole file. Nothing is loaded or expanded; at most 64 MiB of the parts are unpacked.
ConvertedText text_of_docx(std::string_view docx);

}  // namespace relucent::index_tools
