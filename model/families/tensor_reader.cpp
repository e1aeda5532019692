#include "model/families/tensor_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "relucent/error.h"

namespace relucent {

void TensorReader::refuse(const Error& fault) {
  if (faults_ == nullptr) throw Error(fault);
  faults_->add(fault);
  failed_ = true;
}

std::string TensorReader::stored_name(const std::string& name) const {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOld{
      {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};
  constexpr std::array<std::string_view, 6> kPrefixes{"bert.", "deberta.", "electra.", "model.", "new.", "roberta."};
  std::string old = name;
  for (const auto& [now, before] : kOld) {
    if (name.ends_with(now)) old.replace(name.size() - now.size(), now.size(), before);
  }
  const auto prefix =
      std::find_if(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view each) { return name.starts_with(each); });
  for (const std::size_t skipped : {std::size_t{0}, prefix == kPrefixes.end() ? 0 : prefix->size()}) {
    for (const std::string& each : {name, old}) {
      if (file_.find(each.substr(skipped)) != nullptr) return each.substr(skipped);
    }
  }
  return name;
}

TensorView TensorReader::take(const std::string& wanted, const std::vector<std::int64_t>& shape) {
  const std::string name = stored_name(wanted);
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
  // Compared before the tensor is read, which may be of any size.
  if (!std::equal(entry->shape.begin(), entry->shape.end(), shape.begin(), shape.end(),
                  [](std::uint64_t stored, std::int64_t size) { return std::cmp_equal(stored, size); })) {
    refuse(Error(ErrorKind::invalid_data, place,
                 fmt::format("has the shape [{}], but config.json requires [{}]", join(entry->shape), join(shape)),
                 "use config.json and model.safetensors of the same model"));
    return absent;
  }
  used_.push_back(name);
  return file_.view(*entry);
}

TensorView TensorReader::vector(const std::string& name, std::int64_t size) { return take(name, {size}); }

TensorView TensorReader::matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  return take(name, {rows, columns});
}

LinearWeights TensorReader::convolution(const std::string& name, std::int64_t outputs, std::int64_t inputs,
                                        std::int64_t taps) {
  return {take(name + ".weight", {outputs, inputs, taps}), vector(name + ".bias", outputs)};
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

TensorView rows_of(const TensorView& tensor, std::int64_t first, std::int64_t rows) {
  if (tensor.data == nullptr) return tensor;
  TensorView part = tensor;
  const auto row = tensor.elements() / static_cast<std::size_t>(tensor.shape.front()) * element_size(tensor.type);
  part.data += static_cast<std::size_t>(first) * row;
  part.shape.front() = rows;
  return part;
}

LinearWeights rows_of(const LinearWeights& linear, std::int64_t first, std::int64_t rows) {
  return {rows_of(linear.weight, first, rows), rows_of(linear.bias, first, rows)};
}

TensorView own_tensor(std::vector<float> values, std::vector<std::int64_t> shape,
                      std::shared_ptr<const void>& storage) {
  struct Kept {
    std::vector<float> values;
    std::shared_ptr<const void> others;
  };
  const auto kept = std::make_shared<Kept>(Kept{std::move(values), storage});
  storage = kept;
  return {DataType::f32, std::move(shape), reinterpret_cast<const std::byte*>(kept->values.data())};
}

TensorView row_difference(const TensorView& tensor, std::int32_t row, std::int32_t less,
                          std::shared_ptr<const void>& storage) {
  std::vector<float> values = rows_of(tensor, row, 1).to_f32();
  const std::vector<float> subtracted = rows_of(tensor, less, 1).to_f32();
  for (std::size_t i = 0; i < subtracted.size(); ++i) values[i] -= subtracted[i];
  return own_tensor(std::move(values), {1, static_cast<std::int64_t>(subtracted.size())}, storage);
}

TensorView copy_rows(const TensorView& tensor, std::span<const std::int32_t> rows,
                     std::shared_ptr<const void>& storage) {
  struct Copy {
    std::vector<std::byte> bytes;
    std::shared_ptr<const void> others;
  };
  const std::size_t row =
      tensor.elements() / static_cast<std::size_t>(tensor.shape.front()) * element_size(tensor.type);
  const auto copy = std::make_shared<Copy>(Copy{std::vector<std::byte>(rows.size() * row), storage});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(copy->bytes.data() + i * row, tensor.data + static_cast<std::size_t>(rows[i]) * row, row);
  }
  TensorView result = tensor;
  result.shape.front() = static_cast<std::int64_t>(rows.size());
  result.data = copy->bytes.data();
  storage = copy;
  return result;
}

void put_relevance_first(EncoderWeights& weights) {
  constexpr std::array<std::int32_t, 2> exchanged = {1, 0};
  LinearWeights& output = weights.head_output;
  output.weight = copy_rows(output.weight, exchanged, weights.storage);
  if (output.bias.data != nullptr) output.bias = copy_rows(output.bias, exchanged, weights.storage);
}

}  // namespace relucent
