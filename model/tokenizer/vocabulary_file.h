#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace relucent {

/// The lines of a vocab.txt, by id. Throws Error: `io`; `invalid_data` naming the file and the line for a repeated
/// entry or bytes that are not UTF-8.
std::vector<std::string> read_vocabulary_lines(const std::filesystem::path& path);

}  // namespace relucent
