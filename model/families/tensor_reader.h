#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/fault_list.h"
#include "model/formats/safetensors.h"
#include "relucent/kernels/encoder.h"

namespace relucent {

/// Takes tensors from a safetensors file by name and expected shape. All functions throw Error naming the file and
/// the tensor: `invalid_data` if it is missing or has another shape, `unsupported` if its type is not F32, F16 or
/// BF16. With a list that keeps all faults they return a tensor without data instead.
class TensorReader {
 public:
  explicit TensorReader(const SafetensorsFile& file, FaultList* faults = nullptr) : file_(file), faults_(faults) {}

  const SafetensorsFile& file() const noexcept { return file_; }
  /// Whether there were faults, so that some tensors have no data.
  bool failed() const noexcept { return failed_; }

  TensorView vector(const std::string& name, std::int64_t size);
  TensorView matrix(const std::string& name, std::int64_t rows, std::int64_t columns);
  /// NAME.weight and, with `bias`, NAME.bias.
  LinearWeights linear(const std::string& name, std::int64_t outputs, std::int64_t inputs, bool bias = true);
  /// The same with `taps` matrices, [outputs, inputs, taps].
  LinearWeights convolution(const std::string& name, std::int64_t outputs, std::int64_t inputs, std::int64_t taps);
  NormWeights norm(const std::string& name, std::int64_t size, bool bias = true);

  /// The name under which the file has the tensor `name`: older programs call norms' parameters gamma and beta, and an
  /// encoder saved alone has no prefix ("bert.", "roberta." ...). `name` if the file does not have it.
  std::string stored_name(const std::string& name) const;

  /// Throws Error `invalid_data` if the file has a tensor PREFIX.N.* of a layer N = `layers`, beyond those that
  /// config.json states: for families whose files no other program writes with more layers than it reads.
  void refuse_more(const std::string& prefix, std::size_t layers);

  /// Throws Error `invalid_data` with `problem` for the first tensor whose name `unwanted` accepts.
  void refuse_tensors(const std::function<bool(std::string_view name)>& unwanted, const std::string& problem);

  /// Names of all tensors taken so far.
  const std::vector<std::string>& used() const noexcept { return used_; }

 private:
  TensorView take(const std::string& name, const std::vector<std::int64_t>& shape);
  void refuse(const Error& fault);

  const SafetensorsFile& file_;
  FaultList* faults_;
  bool failed_ = false;
  std::vector<std::string> used_;
};

/// Rows [first, first + rows) of a tensor or of a linear map's outputs; nothing of one without data.
TensorView rows_of(const TensorView& tensor, std::int64_t first, std::int64_t rows);
LinearWeights rows_of(const LinearWeights& linear, std::int64_t first, std::int64_t rows);

/// A tensor of these values in fp32. `storage`, which keeps other tensors' memory alive, then also keeps its own.
TensorView own_tensor(std::vector<float> values, std::vector<std::int64_t> shape, std::shared_ptr<const void>& storage);

/// A copy of some rows of a tensor, in this order; `storage` as above.
TensorView copy_rows(const TensorView& tensor, std::span<const std::int32_t> rows,
                     std::shared_ptr<const void>& storage);

/// For a head with two outputs, of which the second is that of relevance: exchanges them, since Head's score is the
/// first one's.
void put_relevance_first(EncoderWeights& weights);

/// One row of a tensor less another, [1, columns]; `storage` as above.
TensorView row_difference(const TensorView& tensor, std::int32_t row, std::int32_t less,
                          std::shared_ptr<const void>& storage);

}  // namespace relucent
