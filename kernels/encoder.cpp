#include "relucent/kernels/encoder.h"

#include <cstring>
#include <functional>
#include <numeric>

#include "base/half.h"

namespace relucent {

std::size_t TensorView::elements() const noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                         [](std::size_t product, std::int64_t n) { return product * static_cast<std::size_t>(n); });
}

std::vector<float> TensorView::to_f32() const {
  std::vector<float> values(elements());
  if (values.empty()) return values;
  if (type == DataType::f32) {
    std::memcpy(values.data(), data, values.size() * sizeof(float));
    return values;
  }
  const auto widen = type == DataType::f16 ? from_f16 : from_bf16;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, data + 2 * i, sizeof half);
    values[i] = widen(half);
  }
  return values;
}

}  // namespace relucent
