#include "kernels/cuda/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/cuda/device.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

void check(cublasStatus_t status, int device, const char* operation) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  cudaGetLastError();
  throw Error(
      ErrorKind::device, device_name(device),
      fmt::format("{} failed: {} (cublasLt {})", operation, cublasLtGetStatusString(status), cublasLtGetVersion()),
      "if it persists, use device = \"cpu\"");
}

cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::f16: return CUDA_R_16F;
    case Element::bf16: return CUDA_R_16BF;
    case Element::f32: break;
  }
  return CUDA_R_32F;
}

/// cublasLt's matrices are column-major: our [rows, columns] is its columns x rows.
class Layout {
 public:
  Layout(int device, cudaDataType_t type, int columns, int rows, int stride, int batch, std::int64_t batch_stride) {
    check(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(columns),
                                     static_cast<std::uint64_t>(rows), stride),
          device, "describing a matrix");
    if (batch == 1) return;
    try {
      check(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), device,
            "describing a batch of matrices");
      check(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                                             sizeof batch_stride),
            device, "describing a batch of matrices");
    } catch (...) {
      cublasLtMatrixLayoutDestroy(layout_);
      throw;
    }
  }
  ~Layout() {
    if (layout_ != nullptr) cublasLtMatrixLayoutDestroy(layout_);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  cublasLtMatrixLayout_t get() const noexcept { return layout_; }
  cublasLtMatrixLayout_t release() noexcept { return std::exchange(layout_, nullptr); }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

Layout layout_of_x(const MatmulForm& f, int rows, int device) {
  return {device, type_of(f.element), f.in, rows, f.x_stride, f.batch, f.x_batch};
}

Layout layout_of_y(const MatmulForm& f, int rows, int device) {
  return {device, f.float_result ? CUDA_R_32F : type_of(f.element), f.out, rows, f.y_stride, f.batch, f.y_batch};
}

/// The largest power of two up to 256 that divides `bytes`: the alignment that cublasLt may assume for an address.
std::uint32_t alignment(std::uint64_t bytes) {
  constexpr std::uint64_t most = 256;  // alignment of every matrix's start
  return static_cast<std::uint32_t>(std::min(most, bytes & (~bytes + 1)));
}

constexpr float kOne = 1, kZero = 0;

}  // namespace

MatmulLibrary::MatmulLibrary(int device) : device_(device) {
  check(cublasLtCreate(&handle_), device, "starting cublasLt");
}
MatmulLibrary::~MatmulLibrary() { cublasLtDestroy(handle_); }

Matmul::Matmul(const MatmulLibrary& library, const MatmulForm& form) : library_(library), form_(form) {
  try {
    describe();
    choose_algorithm();
  } catch (...) {
    destroy();
    throw;
  }
}

Matmul::~Matmul() { destroy(); }

void Matmul::destroy() noexcept {
  if (weight_ != nullptr) cublasLtMatrixLayoutDestroy(weight_);
  if (description_ != nullptr) cublasLtMatmulDescDestroy(description_);
}

void Matmul::describe() {
  const int device = library_.device();
  const cublasComputeType_t compute = form_.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check(cublasLtMatmulDescCreate(&description_, compute, CUDA_R_32F), device, "describing a product");
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value), device,
          "describing a product");
  };
  // y^T = W x^T: W is the first operand, and row-major W is column-major W^T.
  set(CUBLASLT_MATMUL_DESC_TRANSA, form_.weight_is_transposed ? CUBLAS_OP_N : CUBLAS_OP_T);
  if (form_.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, form_.gelu ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, form_.bias);
  }
  const int columns = form_.weight_is_transposed ? form_.out : form_.in;
  const int rows = form_.weight_is_transposed ? form_.in : form_.out;
  weight_ = Layout(device, type_of(form_.element), columns, rows, columns, form_.batch, form_.weight_batch).release();
}

void Matmul::choose_algorithm() {
  for (const int rows : {form_.usual_rows, 128, 1}) {
    for (const cublasLtMatmulAlgo_t& algorithm : proposals(rows)) {
      if (!sums_at_once(algorithm) || !fits_all_rows(algorithm)) continue;
      algorithm_ = algorithm;
      return;
    }
  }
  throw Error(ErrorKind::device, device_name(library_.device()),
              fmt::format("cublasLt has no algorithm for a product of {} by {} features", form_.in, form_.out),
              "use another precision or device = \"cpu\"");
}

std::vector<cublasLtMatmulAlgo_t> Matmul::proposals(int rows) const {
  const int device = library_.device();
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), device, "choosing an algorithm");
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, decltype(&cublasLtMatmulPreferenceDestroy)>
      owner(preference, &cublasLtMatmulPreferenceDestroy);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), device,
          "choosing an algorithm");
  };
  // Neither workspace nor split sums: each element of y is one sum in one order, whatever the number of rows.
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{0});
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
  // Matrices of a batch start within one another's rows.
  const auto of_batch = [&](std::int64_t elements, std::size_t size) {
    return form_.batch == 1 ? std::uint64_t{256} : static_cast<std::uint64_t>(elements) * size;
  };
  const std::size_t size = size_of(form_.element);
  const std::uint32_t of_y = alignment(of_batch(form_.y_batch, form_.float_result ? sizeof(float) : size));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::min(alignment(reinterpret_cast<std::uintptr_t>(form_.weight)),
                                                           alignment(of_batch(form_.weight_batch, size))));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(of_batch(form_.x_batch, size)));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_y);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_y);

  std::array<cublasLtMatmulHeuristicResult_t, 32> found{};
  int count = 0;
  const Layout x = layout_of_x(form_, rows, device), y = layout_of_y(form_, rows, device);
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library_.handle(), description_, weight_, x.get(), y.get(), y.get(), preference,
                                     static_cast<int>(found.size()), found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, device, "choosing an algorithm");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (found[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(found[i].algo);
  }
  return algorithms;
}

bool Matmul::sums_at_once(const cublasLtMatmulAlgo_t& algorithm) const {
  const auto value_of = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written),
          library_.device(), "querying an algorithm");
    return value;
  };
  return value_of(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) <= 1 &&
         value_of(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) == CUBLASLT_REDUCTION_SCHEME_NONE;
}

bool Matmul::fits_all_rows(const cublasLtMatmulAlgo_t& algorithm) const {
  const int device = library_.device();
  for (const int rows : {1, 13, form_.usual_rows + 1}) {
    const Layout x = layout_of_x(form_, rows, device), y = layout_of_y(form_, rows, device);
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status = cublasLtMatmulAlgoCheck(library_.handle(), description_, weight_, x.get(), y.get(),
                                                          y.get(), &algorithm, &result);
    if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize != 0) return false;
  }
  return true;
}

void Matmul::run(const void* x, void* y, int rows, cudaStream_t stream) const {
  const int device = library_.device();
  const Layout of_x = layout_of_x(form_, rows, device), of_y = layout_of_y(form_, rows, device);
  check(cublasLtMatmul(library_.handle(), description_, &kOne, form_.weight, weight_, x, of_x.get(), &kZero, y,
                       of_y.get(), y, of_y.get(), &algorithm_, nullptr, 0, stream),
        device, "starting a product");
}

}  // namespace relucent::cuda
