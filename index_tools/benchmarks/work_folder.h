#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "relucent/error.h"

namespace relucent::benchmarks {

/// A new folder that is removed with everything in it at the end.
class WorkFolder {
 public:
  /// @param parent  empty: the system's temporary directory
  /// Throws Error `io`.
  explicit WorkFolder(const std::filesystem::path& parent = {}) {
    std::string name =
        ((parent.empty() ? std::filesystem::temp_directory_path() : parent) / "relucent-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorKind::io, name, std::string("the directory cannot be created: ") + std::strerror(errno),
                  "choose another --folder");
    }
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace relucent::benchmarks
