#pragma once

#include "index_tools/corpora/document_reader.h"

namespace relucent::index_tools {

/// args.me (debateorg.json and its siblings): one JSON object whose `arguments` may take gigabytes. The id is `id`; the
/// text is the premises' texts joined by spaces, a space, and the conclusion. Error locations count arguments, not
/// lines.
std::unique_ptr<DocumentReader> read_argsme(const CorpusPart& part);

}  // namespace relucent::index_tools
