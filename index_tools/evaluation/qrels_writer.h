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
/// Throws Error `usage` for another name.
QrelsFormat parse_qrels_format(std::string_view name);
/// What a file's name asks for: .jsonl, .tsv (BEIR), .rel (SMART), .qrels and .trec (TREC); nothing for
/// others.
std::optional<QrelsFormat> qrels_form_of(const std::filesystem::path& file);

/// Judgments in their order as a file of the format. SMART and BEIR have no place for the iteration.
/// Throws Error `invalid_data` for an id that holds a blank (but in JSONL).
std::string format_judgments(const std::vector<Judgment>& judgments, QrelsFormat format);

}  // namespace relucent::index_tools
