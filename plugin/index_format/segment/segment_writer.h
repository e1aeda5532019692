#pragma once

#include <filesystem>
#include <string>

#include "plugin/index_format/analysis/term_source.h"
#include "plugin/index_format/segment/document_range.h"
#include "plugin/index_format/segment/segment.h"
#include "plugin/index_format/token_ids.h"

namespace relucent::segment {

/// Writes a range of documents as the segment `name`. Several threads may call it concurrently, each with its own
/// source. `token_ids` is used if fields.token_ids. Throws Error `io`.
Segment write_segment(const std::filesystem::path& folder, const std::string& name, const Fields& fields,
                      const DocumentRange& documents, analysis::TermSource& source,
                      const TokenIdEncoder& token_ids = {});

}  // namespace relucent::segment
