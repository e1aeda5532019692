#include "plugin/index_format/check/file_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "base/file/random_file.h"

namespace relucent {
namespace {

constexpr std::int64_t kWhole = 1 << 20, kPieces = 32, kPiece = 1 << 14;

}  // namespace

FileState file_state(const std::filesystem::path& path) {
  const RandomFile file(path);
  FileState state{file.size(), file.modified(), 0};
  const std::int64_t pieces = file.size() <= kWhole ? 1 : kPieces;
  const std::int64_t length = pieces == 1 ? file.size() : kPiece;
  std::vector<char> buffer(static_cast<std::size_t>(length));
  Checksum sum;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t at = pieces == 1 ? 0 : (file.size() - length) / (pieces - 1) * i;
    const std::size_t count = file.read(at, buffer.data(), buffer.size());
    sum.add({buffer.data(), count});
  }
  state.sample = sum.value();
  return state;
}

std::string to_string(const FileState& state) {
  return fmt::format("{} {} {}", state.size, state.modified, to_hex(state.sample));
}

}  // namespace relucent
