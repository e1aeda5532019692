#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/formats/safetensors.h"

namespace relucent {

/// Size in bytes of the length field before the header.
inline constexpr std::size_t kLengthFieldBytes = 8;

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the header's order
  std::map<std::string, std::string> metadata;
};

/// Parses the JSON header of a safetensors file, accepting only this structure:
/// {"NAME": {"dtype": string, "shape": [integers], "data_offsets": [begin, end]}, "__metadata__": {string:
/// string}}, with no begin after its end. Throws Error `invalid_data` naming `path` and the tensor or the byte of the
/// file.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::filesystem::path& path);

}  // namespace relucent
