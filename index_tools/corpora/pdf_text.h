#pragma once

#include "index_tools/corpora/byte_stream.h"
#include "index_tools/corpora/converted_text.h"

namespace relucent::index_tools {

/// The text of a PDF, as `pdftotext` of Debian's poppler-utils prints it in a process of its own with limits of time
/// and memory. Throws Error `io` if the PDF cannot be read or handed over.
ConvertedText text_of_pdf(ByteStream& pdf);

}  // namespace relucent::index_tools
