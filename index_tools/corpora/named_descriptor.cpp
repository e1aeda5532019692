#include "index_tools/corpora/named_descriptor.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "relucent/error.h"

namespace relucent::index_tools {

std::optional<int> named_descriptor(const std::filesystem::path& file, int dash) {
  const std::string& name = file.native();
  if (name == "-") return dash;
  if (name == "/dev/stdin") return STDIN_FILENO;
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    int number = -1;
    const char* end = name.data() + name.size();
    const auto [last, problem] = std::from_chars(name.data() + folder.size(), end, number);
    if (problem == std::errc() && last == end && number >= 0) return number;
  }
  return std::nullopt;
}

UniqueFd duplicate_descriptor(int descriptor, const std::string& name) {
  UniqueFd duplicate(::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (duplicate) return duplicate;
  throw Error(ErrorKind::io, name, fmt::format("cannot be used: {}", std::strerror(errno)),
              errno == EBADF ? "redirect it to a file or a pipe, or pass a file name" : "");
}

std::string input_name(const std::filesystem::path& file) {
  return file.native() == "-" ? "standard input" : file.string();
}

}  // namespace relucent::index_tools
