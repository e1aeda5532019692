#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/formats/json_file.h"

namespace relucent {

/// The lines of a vocab.txt, by id. Throws Error: `io`; `invalid_data` naming the file and the line for a repeated
/// entry or bytes that are not UTF-8.
std::vector<std::string> read_vocabulary_lines(const std::filesystem::path& path);

/// The entries of a tokenizer.json with a WordPiece model, including added tokens, by id. Throws Error:
/// `unsupported` for another model or for parts that differ from BERT's; `invalid_data` naming the file and the key.
std::vector<std::string> read_tokenizer_json(const JsonFile& file);

}  // namespace relucent
