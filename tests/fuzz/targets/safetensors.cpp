// The header of safetensors: by itself, and in a file with as much data as its tensors state.
#include "model/formats/safetensors.h"

#include <algorithm>

#include "model/formats/safetensors_header.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/scratch_file.h"

namespace relucent::fuzz {
namespace {

constexpr std::uint64_t kMostData = 1 << 16;

void read_file(std::string_view bytes) {
  const auto path = scratch_file("model.safetensors", bytes);
  answer_or_error([&] {
    const auto file = SafetensorsFile::open(path);
    for (const SafetensorsEntry& entry : file.entries()) {
      const std::size_t size = file.data(entry).size();
      if (size != entry.end - entry.begin) report("a tensor of another size than its header states");
      if (!floating_type(entry.type)) continue;
      const TensorView view = file.view(entry);
      if (view.to_f32().size() != view.elements()) report("another number of elements");
      if (file.find(entry.name) == nullptr) report("a tensor that has no name");
    }
  });
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_JSON
RELUCENT_FUZZ_TARGET(safetensors) {
  read_file(input);
  answer_or_error([&] {
    std::uint64_t data = 0;
    for (const SafetensorsEntry& entry : parse_safetensors_header(input, "header").entries) {
      if (entry.begin > entry.end) report("a tensor that ends before it begins");
      data = std::max(data, entry.end);
    }
    std::string file;
    for (int shift = 0; shift < 64; shift += 8) file += static_cast<char>(std::uint64_t{input.size()} >> shift & 0xFF);
    file += input;
    file.resize(file.size() + std::min(data, kMostData), '\x3C');
    read_file(file);
  });
}
