#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/file_formats.h"
#include "index_tools/evaluation/qrels.h"

namespace relucent::index_tools {

const FileFormats<QrelsFormat>& qrels_formats();
inline std::string_view to_string(QrelsFormat format) { return qrels_formats().name_of(format); }

/// Formats judgments in their order. SMART and BEIR omit the iteration.
/// Throws Error `invalid_data` for an id that contains white space (except in JSONL).
std::string format_judgments(const std::vector<Judgment>& judgments, QrelsFormat format);

}  // namespace relucent::index_tools
