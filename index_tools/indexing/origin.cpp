#include "index_tools/indexing/origin.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/file/file_io.h"
#include "index_tools/indexing/manifest.h"
#include "index_tools/indexing/progress_record.h"
#include "plugin/index_format/segments_file.h"
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

/// An unreadable segments file still shows the key of a progress record.
bool names_progress_record(const fs::path& list) {
  constexpr std::size_t most = std::size_t{64} << 20;  // more than any list has
  std::error_code failure;
  if (fs::file_size(list, failure) > most && !failure) return false;
  return read_file(list, most).find(kProgressKey) != std::string::npos;
}

}  // namespace

Origin origin_of(const fs::path& index) {
  const std::vector<std::string> lists = segments_files(index);
  // A finished index: a program that changed it since has written a newer segments file.
  if (const auto manifest = readable_manifest(index)) {
    if (lists.empty() || manifest->files.contains(lists.front())) return Origin::own;
  }
  if (lists.empty()) return Origin::none;
  try {
    const IndexFiles files = index_files(index);
    return files.only_of_builder && files.user_data.contains(kProgressKey) ? Origin::own : Origin::other;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_data) throw;
  }
  std::error_code ignored;
  const auto shows_progress_record = [&](const std::string& list) { return names_progress_record(index / list); };
  const bool own =
      fs::exists(index / Manifest::kFileName, ignored) || std::ranges::any_of(lists, shows_progress_record);
  return own ? Origin::own : Origin::unknown;
}

}  // namespace relucent::index_tools
