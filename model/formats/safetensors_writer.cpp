#include "model/formats/safetensors_writer.h"

#include <nlohmann/json.hpp>

#include "model/formats/safetensors.h"
#include "relucent/error.h"

namespace relucent {
namespace {

std::uint64_t bytes_of(const NewTensor& tensor) {
  std::uint64_t product = safetensors_element_size(tensor.type).value_or(0);
  for (const std::uint64_t size : tensor.shape) product *= size;
  return product;
}

/// The header, preceded by its length and padded with spaces so that the data begins at a multiple of 8 bytes.
std::string header(std::span<const NewTensor> tensors, const std::map<std::string, std::string>& metadata) {
  auto json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  std::uint64_t reached = 0;
  for (const NewTensor& tensor : tensors) {
    const std::uint64_t end = reached + bytes_of(tensor);
    json[tensor.name] = {{"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {reached, end}}};
    reached = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  return length + text;
}

}  // namespace

void write_safetensors(std::span<const NewTensor> tensors, const std::map<std::string, std::string>& metadata,
                       const NewFolder& folder) {
  NewFolder::File out(folder, "model.safetensors");
  out.write(header(tensors, metadata));
  for (const NewTensor& tensor : tensors) {
    std::uint64_t written = 0;
    tensor.bytes([&](std::span<const std::byte> part) {
      written += part.size();
      out.write(part);
    });
    if (written != bytes_of(tensor)) {
      throw Error(ErrorKind::internal, tensor.name, "the new tensor's size does not match its shape");
    }
  }
  out.finish();
}

}  // namespace relucent
