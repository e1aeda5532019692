#include "model/families/tensor_reader.h"

#include <fmt/format.h>

#include "base/text.h"
#include "relucent/error.h"

namespace relucent {

void TensorReader::refuse(const Error& fault) {
  if (faults_ == nullptr) throw Error(fault);
  faults_->add(fault);
  failed_ = true;
}

TensorView TensorReader::take(const std::string& name, const std::vector<std::int64_t>& shape) {
  const SafetensorsEntry* entry = file_.find(name);
  const auto& path = entry != nullptr ? file_.path_of(*entry) : file_.path();
  const std::string place = fmt::format("{}, tensor {}", path.string(), name);
  const TensorView absent{DataType::f32, shape, nullptr};
  if (entry == nullptr) {
    refuse(Error(ErrorKind::invalid_data, place, "is missing",
                 "use a checkpoint saved with its classification head and its own config.json"));
    return absent;
  }
  if (!floating_type(entry->type)) {
    refuse(Error(ErrorKind::unsupported, place, "has the unsupported data type " + entry->type,
                 "convert the checkpoint to F32, F16 or BF16"));
    return absent;
  }
  TensorView view = file_.view(*entry);
  if (view.shape != shape) {
    refuse(Error(ErrorKind::invalid_data, place,
                 fmt::format("has the shape [{}], but config.json requires [{}]", join(view.shape), join(shape)),
                 "use config.json and model.safetensors of the same model"));
    return absent;
  }
  used_.push_back(name);
  return view;
}

TensorView TensorReader::vector(const std::string& name, std::int64_t size) { return take(name, {size}); }

TensorView TensorReader::matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return take(name, {rows, columns});
}

LinearWeights TensorReader::linear(const std::string& name, std::int64_t outputs, std::int64_t inputs, bool bias) {
  return {matrix(name + ".weight", outputs, inputs), bias ? vector(name + ".bias", outputs) : TensorView()};
}

NormWeights TensorReader::norm(const std::string& name, std::int64_t size, bool bias) {
  return {vector(name + ".weight", size), bias ? vector(name + ".bias", size) : TensorView()};
}

void TensorReader::refuse_more(const std::string& prefix, std::size_t layers) {
  const std::string beyond = fmt::format("{}{}.", prefix, layers);
  refuse_tensors([&](std::string_view name) { return name.starts_with(beyond); },
                 fmt::format("config.json states {} layers, but the file has more", layers));
}

void TensorReader::refuse_tensors(const std::function<bool(std::string_view name)>& unwanted,
                                  const std::string& problem) {
  for (const SafetensorsEntry& entry : file_.entries()) {
    if (!unwanted(entry.name)) continue;
    return refuse(Error(ErrorKind::invalid_data,
                        fmt::format("{}, tensor {}", file_.path_of(entry).string(), entry.name), problem,
                        "use config.json and model.safetensors of the same model"));
  }
}

}  // namespace relucent
