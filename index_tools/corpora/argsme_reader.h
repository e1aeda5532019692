#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// args.me (debateorg.json and the like): one JSON object whose `arguments` may be gigabytes. The id is `id`, the text
/// the texts of the premises joined by spaces, a space, and the conclusion. A place counts arguments, not lines.
std::unique_ptr<DocumentReader> read_argsme(const CorpusPart& part);

}  // namespace relucent::index_tools
