#include "index_tools/indexing/origin.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/file/file_io.h"
#include "index_tools/indexing/checkpoint.h"
#include "index_tools/indexing/manifest.h"
#include "plugin/index/segments_file.h"
#include "relucent/error.h"
#include "relucent/index_files.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

std::optional<Manifest> readable_manifest(const fs::path& index) {
  try {
    return read_manifest(index);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_data) throw;
    return std::nullopt;
  }
}

/// What a list of segments that cannot be understood still shows: the name under which a checkpoint is kept.
bool names_a_checkpoint(const fs::path& list) {
  return read_file(list, kAnySize).find(kCheckpointKey) != std::string::npos;
}

}  // namespace

Origin origin_of(const fs::path& index) {
  const std::vector<std::string> lists = segments_files(index);
  // A finished index: whoever has changed it since has written a newer list.
  if (const auto manifest = readable_manifest(index)) {
    if (lists.empty() || manifest->files.contains(lists.front())) return Origin::own;
  }
  if (lists.empty()) return Origin::none;
  try {
    const IndexFiles files = index_files(index);
    return files.only_of_builder && files.user_data.contains(kCheckpointKey) ? Origin::own : Origin::other;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_data) throw;
  }
  std::error_code ignored;
  const auto shows_a_checkpoint = [&](const std::string& list) { return names_a_checkpoint(index / list); };
  const bool own = fs::exists(index / Manifest::kFileName, ignored) || std::ranges::any_of(lists, shows_a_checkpoint);
  return own ? Origin::own : Origin::unknown;
}

}  // namespace relucent::index_tools
