#include "model/families/tensor_reader.h"

#include "base/text.h"
#include "relucent/error.h"

namespace relucent {
namespace {

template <typename Sizes>
std::string to_text(const Sizes& shape) {
  return "[" + join(shape) + "]";
}

}  // namespace

TensorView TensorReader::take(const std::string& name, const std::vector<std::int64_t>& shape) {
  const std::string place = file_.path().string() + ", tensor " + name;
  const SafetensorsEntry* entry = file_.find(name);
  if (entry == nullptr) {
    throw Error(ErrorKind::invalid_data, place, "is missing",
                "use a checkpoint saved with its classification head and its own config.json");
  }
  TensorView view = file_.view(*entry);
  if (view.shape != shape) {
    throw Error(ErrorKind::invalid_data, place,
                "has the shape " + to_text(view.shape) + ", but config.json requires " + to_text(shape),
                "use config.json and model.safetensors of the same model");
  }
  used_.push_back(name);
  return view;
}

TensorView TensorReader::vector(const std::string& name, std::int64_t size) { return take(name, {size}); }

TensorView TensorReader::matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return take(name, {rows, columns});
}

LinearWeights TensorReader::linear(const std::string& name, std::int64_t outputs, std::int64_t inputs) {
  return {matrix(name + ".weight", outputs, inputs), vector(name + ".bias", outputs)};
}

NormWeights TensorReader::norm(const std::string& name, std::int64_t size) {
  return {vector(name + ".weight", size), vector(name + ".bias", size)};
}

}  // namespace relucent
