#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/file/new_folder.h"

namespace relucent {

/// A tensor to write.
struct NewTensor {
  std::string name, type;
  std::vector<std::uint64_t> shape;
  using Write = std::function<void(std::span<const std::byte>)>;
  /// Computes the bytes when they are written, in parts.
  std::function<void(const Write& write)> bytes;
};

/// Writes model.safetensors into a new folder. Throws Error: `io` if it cannot be written, `internal` if a tensor's
/// bytes do not fit its shape, and whatever `bytes` throws.
void write_safetensors(std::span<const NewTensor> tensors, const std::map<std::string, std::string>& metadata,
                       const NewFolder& folder);

}  // namespace relucent
