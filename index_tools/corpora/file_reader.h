#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// A document a file; the id is its path below the input, white space and '%' written as %20 and the like.
/// HTML: the title, a space, and the rest of the page; the page alone where there is no title. Its charset is
/// what a byte order mark or the page says, else UTF-8. A file *.txt is read as read_text() does.
std::unique_ptr<DocumentReader> read_html(const CorpusPart& part);
/// The file as it is: UTF-8.
std::unique_ptr<DocumentReader> read_text(const CorpusPart& part);

}  // namespace relucent::index_tools
