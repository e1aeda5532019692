#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// One tensor that a data.pkl of PyTorch describes. Its numbers are in a file of their own.
struct PickledTensor {
  std::string name;
  std::string type;     ///< as safetensors names it: "F32"
  std::string storage;  ///< the name of the file, below data/
  std::uint64_t storage_elements = 0;
  std::uint64_t first = 0;  ///< element of the storage
  std::vector<std::uint64_t> shape;
};

/// The size of an element of a PickledTensor's type.
std::uint64_t element_size_of(std::string_view type);

/// Reads a pickle that contains a dictionary of tensors, by the few operations that PyTorch writes for one. Nothing is
/// imported, called or executed. `place` names the file in errors. Throws Error: `unsupported` naming any other
/// operation, global or value with its byte, `invalid_data` for a damaged pickle or tensors beyond their storage.
std::vector<PickledTensor> read_pickled_tensors(std::string_view pickle, const std::string& place);

}  // namespace relucent::index_tools
