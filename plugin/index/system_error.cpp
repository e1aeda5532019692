#include "plugin/index/system_error.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "relucent/error.h"

namespace relucent {
namespace {

std::string_view remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space; what was committed before is safe";
    case EMFILE: return "raise the limit of open files (ulimit -n)";
    case ENFILE: return "the system's table of open files is full; close other programs";
    case ENOMEM: return "free some memory, or raise its limit (ulimit -v)";
    case EACCES:
    case EPERM: return "check the permissions of the file and its folder";
    case EROFS: return "the file system is mounted read-only; choose another place";
    case ENOENT:
    case ENOTDIR: return "check the path";
    case ELOOP: return "check the symbolic links on the path";
    default: return "check the disk and the folder's permissions";
  }
}

}  // namespace

std::string_view remedy_in(std::string_view text) {
  for (const int error : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EACCES, EPERM, EROFS, ELOOP}) {
    if (text.ends_with(std::generic_category().message(error))) return remedy_for(error);
  }
  return {};
}

void throw_system_error(const std::filesystem::path& path, std::string_view operation, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  throw Error(ErrorKind::io, path.string(),
              std::string(operation) + ": " + (full ? "the disk is full" : std::generic_category().message(error)),
              remedy_for(error));
}

}  // namespace relucent
