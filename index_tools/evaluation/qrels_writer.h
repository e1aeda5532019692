#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/evaluation/qrels.h"

namespace relucent::index_tools {

/// The formats' names on a command line: trec, smart, jsonl, beir.
std::string_view to_string(QrelsFormat format) noexcept;
/// Throws Error `usage` for an unknown name.
QrelsFormat parse_qrels_format(std::string_view name);
/// The format that a file name implies: .jsonl, .tsv (BEIR), .rel (SMART), .qrels and .trec (TREC); nothing for
/// other names.
std::optional<QrelsFormat> qrels_format_of(const std::filesystem::path& file);

/// Formats judgments in their order. SMART and BEIR omit the iteration.
/// Throws Error `invalid_data` for an id that contains white space (except in JSONL).
std::string format_judgments(const std::vector<Judgment>& judgments, QrelsFormat format);

}  // namespace relucent::index_tools
