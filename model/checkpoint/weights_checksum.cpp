#include "model/checkpoint/weights_checksum.h"

namespace relucent {

void add_tensor(Checksum& sum, const TensorView& tensor) {
  if (tensor.data == nullptr) return;
  const auto type = static_cast<char>(tensor.type);
  sum.add({&type, 1});
  sum.add({reinterpret_cast<const char*>(tensor.data), tensor.elements() * element_size(tensor.type)});
}

void add_linear(Checksum& sum, const LinearWeights& linear) {
  add_tensor(sum, linear.weight);
  add_tensor(sum, linear.bias);
}

void add_norm(Checksum& sum, const NormWeights& norm) {
  add_tensor(sum, norm.gamma);
  add_tensor(sum, norm.beta);
}

}  // namespace relucent
