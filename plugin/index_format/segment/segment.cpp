#include "plugin/index_format/segment/segment.h"

#include <fmt/core.h>

#include "plugin/index_format/token_ids.h"
#include "relucent/error.h"

namespace relucent::segment {
namespace {

constexpr std::int32_t kSegmentsFormat = -2;
constexpr std::uint8_t kIndexed = 0x01, kOmitNorms = 0x10, kOmitFrequencies = 0x40;

}  // namespace

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& name, const char* extension) {
  return folder / fmt::format("{}.{}", name, extension);
}

Fields::Fields(const std::string& id_name, const std::string& text_name, const std::string& contents_name,
               bool with_token_ids)
    : id(id_name), text(text_name), contents(contents_name), token_ids(with_token_ids) {
  if (id == text || id == contents) {
    throw Error(ErrorKind::usage, "[index] id_field", fmt::format("\"{}\" is also the name of another field", id),
                "use a separate field for the id");
  }
  if (token_ids && (id == kTokenIdsField || text == kTokenIdsField || contents == kTokenIdsField)) {
    throw Error(ErrorKind::usage, "[index]", fmt::format("\"{}\" is reserved for the token ids", kTokenIdsField),
                "rename the other field");
  }
  if (text == contents) contents_number = text_number;
  token_ids_number = contents_number + 1;
}

FileSum Fields::write(const std::filesystem::path& file) const {
  FileOutput out(file);
  const bool shared = text == contents;
  out.negative_number(kSegmentsFormat);
  out.number((shared ? 2 : 3) + (token_ids ? 1 : 0));
  out.string(id);
  out.byte(kIndexed | kOmitNorms | kOmitFrequencies);
  if (!shared) {
    out.string(text);
    out.byte(kOmitNorms);
  }
  out.string(contents);
  out.byte(kIndexed);
  if (token_ids) {
    out.string(kTokenIdsField);
    out.byte(kOmitNorms);
  }
  return out.finish();
}

}  // namespace relucent::segment
