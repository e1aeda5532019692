// PyTorch's weights: the restricted reader of pickles, and the zip archive around one.
#include "index_tools/pytorch/convert_pytorch.h"
#include "index_tools/pytorch/pickled_tensors.h"
#include "model/formats/safetensors.h"
#include "tests/fuzz/scratch_file.h"

RELUCENT_FUZZ_TARGET(pickle) {
  if (!input.starts_with("PK")) {
    return answer_or_error([&] {
      for (const index_tools::PickledTensor& tensor : index_tools::read_pickled_tensors(input, "data.pkl")) {
        std::uint64_t elements = 1;
        for (const std::uint64_t size : tensor.shape) {
          if (size != 0 && elements > UINT64_MAX / size) report("a tensor of more than 2^64 elements");
          elements *= size;
        }
        if (elements > tensor.storage_elements || tensor.first > tensor.storage_elements - elements) {
          report("a tensor beyond its storage");
        }
        index_tools::element_size_of(tensor.type);
      }
    });
  }
  const std::filesystem::path from = scratch() / "pickle", to = scratch() / "converted";
  std::filesystem::create_directories(from);
  scratch_file("pickle/pytorch_model.bin", input);
  answer_or_error([&] {
    index_tools::convert_pytorch(from, to);
    SafetensorsFile::open(to / "model.safetensors");
  });
  std::filesystem::remove_all(to);
}
