#pragma once

#include <string>
#include <string_view>

#include "index_tools/corpora/byte_stream.h"

namespace relucent::index_tools {

/// A file's text, or why there is none.
struct ConvertedText {
  std::string text;          ///< UTF-8, but not necessarily well-formed
  std::string_view problem;  ///< in a few words, the same for all files with the same problem; empty: there is none
};

/// The text of a Word document (DOCX: Office Open XML, transitional or strict): its body, footnotes and endnotes, one
/// line per paragraph. Deleted text, instructions of fields and second versions of drawings are left out. `docx` is the
/// whole file. Nothing is loaded or expanded; at most 64 MiB of the parts are unpacked.
ConvertedText text_of_docx(std::string_view docx);

/// The text of a PDF, as `pdftotext` of Debian's poppler-utils prints it in a process of its own with limits of time
/// and memory. Throws Error `io` if the PDF cannot be read or handed over.
ConvertedText text_of_pdf(ByteStream& pdf);

}  // namespace relucent::index_tools
