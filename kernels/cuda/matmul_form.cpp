#include "kernels/cuda/matmul_form.h"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <algorithm>

#include "kernels/cuda/device.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::f16: return CUDA_R_16F;
    case Element::bf16: return CUDA_R_16BF;
    case Element::f32: break;
  }
  return CUDA_R_32F;
}

/// The largest power of two up to 256 that divides `bytes`: the alignment that cublasLt may assume for an address.
std::uint32_t alignment(std::uint64_t bytes) {
  constexpr std::uint64_t most = 256;  // alignment of every matrix's start
  return static_cast<std::uint32_t>(std::min(most, bytes & (~bytes + 1)));
}

cublasLtMatrixLayoutOpaque_t layout(int device, cudaDataType_t type, int columns, int rows, int stride,
                                    std::int32_t batch, std::int64_t batch_stride) {
  cublasLtMatrixLayoutOpaque_t result;
  check(cublasLtMatrixLayoutInit(&result, type, static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows),
                                 stride),
        device, "describing a matrix");
  if (batch == 1) return result;
  check(cublasLtMatrixLayoutSetAttribute(&result, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), device,
        "describing a batch of matrices");
  check(cublasLtMatrixLayoutSetAttribute(&result, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                                         sizeof batch_stride),
        device, "describing a batch of matrices");
  return result;
}

/// One number of an algorithm's configuration. cublasLt writes it only into as many bytes as it has, which differ from
/// number to number; so they are asked for first.
std::uint32_t value_of(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute,
                       int device) {
  constexpr const char* operation = "querying an algorithm";
  std::uint32_t value = 0;
  std::size_t bytes = 0;
  check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, nullptr, 0, &bytes), device, operation);
  if (bytes > sizeof value) check(CUBLAS_STATUS_NOT_SUPPORTED, device, operation);
  check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, bytes, &bytes), device, operation);
  return value;
}

}  // namespace

std::size_t y_size(const MatmulForm& form) { return form.float_result ? sizeof(float) : size_of(form.element); }

MatmulForm without_addresses(MatmulForm form) {
  form.weight = reinterpret_cast<const void*>(std::uintptr_t{alignment(reinterpret_cast<std::uintptr_t>(form.weight))});
  form.bias = form.bias == nullptr ? nullptr : form.weight;
  return form;
}

void check(cublasStatus_t status, int device, const char* operation) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  cudaGetLastError();
  throw Error(
      ErrorKind::device, device_name(device),
      fmt::format("{} failed: {} (cublasLt {})", operation, cublasLtGetStatusString(status), cublasLtGetVersion()),
      "if it persists, use device = \"cpu\"");
}

cublasLtMatmulDescOpaque_t describe_product(const MatmulForm& form, int device) {
  constexpr const char* operation = "describing a product";
  cublasLtMatmulDescOpaque_t description;
  const cublasComputeType_t compute = form.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check(cublasLtMatmulDescInit(&description, compute, CUDA_R_32F), device, operation);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(&description, attribute, &value, sizeof value), device, operation);
  };
  // W is the first operand, and row-major W is column-major W^T.
  set(CUBLASLT_MATMUL_DESC_TRANSA, form.weight_is_transposed ? CUBLAS_OP_N : CUBLAS_OP_T);
  if (form.bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, form.gelu ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, form.bias);
  }
  return description;
}

cublasLtMatrixLayoutOpaque_t layout_of_weight(const MatmulForm& form, int device) {
  const int columns = form.weight_is_transposed ? form.out : form.in;
  const int rows = form.weight_is_transposed ? form.in : form.out;
  return layout(device, type_of(form.element), columns, rows, form.weight_stride > 0 ? form.weight_stride : columns,
                form.batch, form.weight_batch);
}

cublasLtMatrixLayoutOpaque_t layout_of_x(const MatmulForm& form, int rows, int device) {
  return layout(device, type_of(form.element), form.in, rows, form.x_stride, form.batch, form.x_batch);
}

cublasLtMatrixLayoutOpaque_t layout_of_y(const MatmulForm& form, int rows, int device) {
  return layout(device, form.float_result ? CUDA_R_32F : type_of(form.element), form.out, rows, form.y_stride,
                form.batch, form.y_batch);
}

cublasLtMatmulPreferenceOpaque_t describe_preference(const MatmulForm& form, std::size_t workspace_bytes, int device) {
  constexpr const char* operation = "choosing an algorithm";
  cublasLtMatmulPreferenceOpaque_t preference;
  check(cublasLtMatmulPreferenceInit(&preference), device, operation);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value), device, operation);
  };
  // No split sums: each element of y is one sum in one order, whatever the number of rows.
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
  // Matrices of a batch start within one another's rows.
  const auto of_batch = [&](std::int64_t elements, std::size_t size) {
    return form.batch == 1 ? static_cast<std::uint64_t>(form.alignment) : static_cast<std::uint64_t>(elements) * size;
  };
  const std::size_t size = size_of(form.element);
  const std::uint32_t of_y = alignment(of_batch(form.y_batch, y_size(form)));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      std::min(alignment(reinterpret_cast<std::uintptr_t>(form.weight)), alignment(of_batch(form.weight_batch, size))));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(of_batch(form.x_batch, size)));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_y);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_y);
  return preference;
}

bool sums_at_once(const cublasLtMatmulAlgo_t& algorithm, int device) {
  return value_of(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, device) <= 1 &&
         value_of(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, device) == CUBLASLT_REDUCTION_SCHEME_NONE;
}

std::string describe_algorithm(const cublasLtMatmulAlgo_t& algorithm, int device) {
  return fmt::format("algorithm {} tile {} stages {} cluster {}", value_of(algorithm, CUBLASLT_ALGO_CONFIG_ID, device),
                     value_of(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, device),
                     value_of(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID, device),
                     value_of(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, device));
}

}  // namespace relucent::cuda
