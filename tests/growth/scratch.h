#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "tests/growth/growth.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {

/// Work on a file of these bytes, which lives as long as the work.
template <typename Use>
Work on_file(const std::string& bytes, Use use, const char* name = "input") {
  auto folder = std::make_shared<TemporaryFolder>();
  const std::filesystem::path path = folder->write(name, bytes);
  return [folder, path, use = std::move(use)] { use(path); };
}

}  // namespace relucent::testing
