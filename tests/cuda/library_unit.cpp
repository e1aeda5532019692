// What cublasLt and the CUDA runtime answer to the calls of kernels/cuda that need no device. This file is compiled
// twice: for the toolkit's libraries (cuda_real_library) and for the emulator, which must answer the same.
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/matmul_form.h"
#include "tests/support/expect_error.h"
#ifdef RELUCENT_CUDA_IS_EMULATED
#include "tests/cuda_emulator/emulator.h"
#endif

namespace relucent::cuda {
namespace {

/// Puts an emulated driver in or takes it out; the machine's own stays as it is.
void use_driver([[maybe_unused]] bool there) {
#ifdef RELUCENT_CUDA_IS_EMULATED
  emulator::reset({.driver = there ? CUDART_VERSION : 0});
#endif
}

constexpr cublasStatus_t kGood = CUBLAS_STATUS_SUCCESS, kInvalid = CUBLAS_STATUS_INVALID_VALUE;

/// An attribute's functions for one object.
struct Attribute {
  std::function<cublasStatus_t(const void* value, std::size_t bytes)> set;
  std::function<cublasStatus_t(void* value, std::size_t bytes, std::size_t* written)> get;
};

/// Holds every answer about an attribute that has so many bytes; 0: that there is none.
void expect_size(const Attribute& of, std::size_t size, bool writable, const std::string& name) {
  std::array<std::byte, 64> value{}, other{};
  std::size_t written = 77;
  EXPECT_EQ(of.get(nullptr, 0, &written), size == 0 ? kInvalid : kGood) << name;
  EXPECT_EQ(written, size == 0 ? 77 : size) << name;
  EXPECT_EQ(of.get(nullptr, 0, nullptr), kInvalid) << name;
  EXPECT_EQ(of.get(nullptr, size == 0 ? 4 : size, &written), kInvalid) << name;
  EXPECT_EQ(of.set(nullptr, size == 0 ? 4 : size), kInvalid) << name;
  if (size != 0) {
    EXPECT_EQ(of.get(value.data(), size, nullptr), kGood) << name;
  }
  for (std::size_t bytes = 1; bytes <= 24; ++bytes) {
    const bool fits = bytes == size;
    EXPECT_EQ(of.get(other.data(), bytes, &written), fits ? kGood : kInvalid) << name << ", " << bytes << " bytes";
    if (fits) {
      EXPECT_EQ(written, size) << name;
    }
    EXPECT_EQ(of.set(value.data(), bytes), fits && writable ? kGood : kInvalid) << name << ", " << bytes << " bytes";
  }
}

template <typename T>
T value_of(const Attribute& of) {
  T value{};
  std::size_t written = 0;
  EXPECT_EQ(of.get(&value, sizeof value, &written), kGood);
  EXPECT_EQ(written, sizeof value);
  return value;
}

Attribute attribute(cublasLtMatmulDescOpaque_t& of, int number) {
  const auto which = static_cast<cublasLtMatmulDescAttributes_t>(number);
  return {[&of, which](const void* value, std::size_t bytes) {
            return cublasLtMatmulDescSetAttribute(&of, which, value, bytes);
          },
          [&of, which](void* value, std::size_t bytes, std::size_t* written) {
            return cublasLtMatmulDescGetAttribute(&of, which, value, bytes, written);
          }};
}

Attribute attribute(cublasLtMatrixLayoutOpaque_t& of, int number) {
  const auto which = static_cast<cublasLtMatrixLayoutAttribute_t>(number);
  return {[&of, which](const void* value, std::size_t bytes) {
            return cublasLtMatrixLayoutSetAttribute(&of, which, value, bytes);
          },
          [&of, which](void* value, std::size_t bytes, std::size_t* written) {
            return cublasLtMatrixLayoutGetAttribute(&of, which, value, bytes, written);
          }};
}

Attribute attribute(cublasLtMatmulPreferenceOpaque_t& of, int number) {
  const auto which = static_cast<cublasLtMatmulPreferenceAttributes_t>(number);
  return {[&of, which](const void* value, std::size_t bytes) {
            return cublasLtMatmulPreferenceSetAttribute(&of, which, value, bytes);
          },
          [&of, which](void* value, std::size_t bytes, std::size_t* written) {
            return cublasLtMatmulPreferenceGetAttribute(&of, which, value, bytes, written);
          }};
}

Attribute attribute(cublasLtMatmulAlgo_t& of, int number) {
  const auto which = static_cast<cublasLtMatmulAlgoConfigAttributes_t>(number);
  return {[&of, which](const void* value, std::size_t bytes) {
            return cublasLtMatmulAlgoConfigSetAttribute(&of, which, value, bytes);
          },
          [&of, which](void* value, std::size_t bytes, std::size_t* written) {
            return cublasLtMatmulAlgoConfigGetAttribute(&of, which, value, bytes, written);
          }};
}

constexpr int kNoAttribute = -1;

// The emulator's headers have the toolkit's numbers and sizes.
static_assert(CUDA_R_32F == 0 && CUDA_R_16F == 2 && CUDA_R_16BF == 14);
static_assert(CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_32F_PEDANTIC == 69 && CUBLAS_COMPUTE_32F_FAST_TF32 == 77);
static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1 && CUBLASLT_ORDER_COL == 0);
static_assert(CUBLASLT_EPILOGUE_DEFAULT == 1 && CUBLASLT_EPILOGUE_BIAS == 4 && CUBLASLT_EPILOGUE_GELU_BIAS == 36);
static_assert(CUBLASLT_REDUCTION_SCHEME_NONE == 0 && CUBLASLT_REDUCTION_SCHEME_MASK == 7);
static_assert(CUBLASLT_MATMUL_DESC_TRANSA == 3 && CUBLASLT_MATMUL_DESC_EPILOGUE == 7 &&
              CUBLASLT_MATMUL_DESC_BIAS_POINTER == 8 && CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE == 26);
static_assert(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT == 5 && CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET == 6);
static_assert(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == 1 && CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK == 3 &&
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES == 5 && CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES == 8);
static_assert(CUBLASLT_ALGO_CONFIG_ID == 0 && CUBLASLT_ALGO_CONFIG_SPLITK_NUM == 2 &&
              CUBLASLT_ALGO_CONFIG_STAGES_ID == 6 && CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID == 8);
static_assert(sizeof(cublasLtMatmulDescOpaque_t) == 256 && sizeof(cublasLtMatrixLayoutOpaque_t) == 64 &&
              sizeof(cublasLtMatmulPreferenceOpaque_t) == 64 && sizeof(cublasLtMatmulAlgo_t) == 64 &&
              sizeof(cublasLtMatmulHeuristicResult_t) == 96);
static_assert(cudaErrorInvalidValue == 1 && cudaErrorMemoryAllocation == 2 && cudaErrorInsufficientDriver == 35 &&
              cudaErrorNoDevice == 100 && cudaErrorNotReady == 600 && cudaErrorIllegalAddress == 700);

TEST(CublasLtLibrary, EveryAttributeOfAProductHasOneSize) {
  cublasLtMatmulDescOpaque_t of;
  ASSERT_EQ(cublasLtMatmulDescInit(&of, CUBLAS_COMPUTE_32F, CUDA_R_32F), kGood);
  for (const auto& [number, size] : {std::pair<int, std::size_t>{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4},
                                     {CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4},
                                     {CUBLASLT_MATMUL_DESC_POINTER_MODE, 4},
                                     {CUBLASLT_MATMUL_DESC_TRANSA, 4},
                                     {CUBLASLT_MATMUL_DESC_TRANSB, 4},
                                     {CUBLASLT_MATMUL_DESC_EPILOGUE, 4},
                                     {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8},
                                     {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 8},
                                     {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4},
                                     {kNoAttribute, 0}}) {
    expect_size(attribute(of, number), size, true, "product " + std::to_string(number));
  }
}

TEST(CublasLtLibrary, EveryAttributeOfALayoutHasOneSize) {
  cublasLtMatrixLayoutOpaque_t of;
  ASSERT_EQ(cublasLtMatrixLayoutInit(&of, CUDA_R_16F, 8, 8, 8), kGood);
  for (const auto& [number, size] : {std::pair<int, std::size_t>{CUBLASLT_MATRIX_LAYOUT_TYPE, 4},
                                     {CUBLASLT_MATRIX_LAYOUT_ORDER, 4},
                                     {CUBLASLT_MATRIX_LAYOUT_ROWS, 8},
                                     {CUBLASLT_MATRIX_LAYOUT_COLS, 8},
                                     {CUBLASLT_MATRIX_LAYOUT_LD, 8},
                                     {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4},
                                     {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8},
                                     {kNoAttribute, 0}}) {
    expect_size(attribute(of, number), size, true, "layout " + std::to_string(number));
  }
}

TEST(CublasLtLibrary, EveryAttributeOfAPreferenceHasOneSize) {
  cublasLtMatmulPreferenceOpaque_t of;
  ASSERT_EQ(cublasLtMatmulPreferenceInit(&of), kGood);
  for (const auto& [number, size] : {std::pair<int, std::size_t>{CUBLASLT_MATMUL_PREF_SEARCH_MODE, 4},
                                     {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8},
                                     {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4},
                                     {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4},
                                     {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4},
                                     {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4},
                                     {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4},
                                     {CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 4},
                                     {kNoAttribute, 0}}) {
    expect_size(attribute(of, number), size, true, "preference " + std::to_string(number));
  }
}

TEST(CublasLtLibrary, EveryAttributeOfAnAlgorithmHasOneSize) {
  cublasLtMatmulAlgo_t of{};
  for (const auto& [number, size] : {std::pair<int, std::size_t>{CUBLASLT_ALGO_CONFIG_ID, 4},
                                     {CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
                                     {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
                                     {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
                                     {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
                                     {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
                                     {CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
                                     {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
                                     {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
                                     {kNoAttribute, 0}}) {
    expect_size(attribute(of, number), size, number != CUBLASLT_ALGO_CONFIG_ID, "algorithm " + std::to_string(number));
  }
}

TEST(CublasLtLibrary, AttributesBeginWithTheirDefaultsAndTakeAnyValue) {
  cublasLtMatmulDescOpaque_t product;
  ASSERT_EQ(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F), kGood);
  EXPECT_EQ(value_of<std::int32_t>(attribute(product, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE)),
            CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(value_of<std::int32_t>(attribute(product, CUBLASLT_MATMUL_DESC_SCALE_TYPE)), CUDA_R_32F);
  EXPECT_EQ(value_of<std::int32_t>(attribute(product, CUBLASLT_MATMUL_DESC_POINTER_MODE)), 0);
  EXPECT_EQ(value_of<std::int32_t>(attribute(product, CUBLASLT_MATMUL_DESC_TRANSB)), CUBLAS_OP_N);
  EXPECT_EQ(value_of<std::uint32_t>(attribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE)), CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(value_of<const void*>(attribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER)), nullptr);
  EXPECT_EQ(value_of<std::int32_t>(attribute(product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE)), -1);

  cublasLtMatrixLayoutOpaque_t layout;
  ASSERT_EQ(cublasLtMatrixLayoutInit(&layout, CUDA_R_16F, 8, 16, 24), kGood);
  EXPECT_EQ(value_of<std::int32_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_TYPE)), CUDA_R_16F);
  EXPECT_EQ(value_of<std::int32_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER)), CUBLASLT_ORDER_COL);
  EXPECT_EQ(value_of<std::uint64_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS)), 8U);
  EXPECT_EQ(value_of<std::uint64_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_COLS)), 16U);
  EXPECT_EQ(value_of<std::int64_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_LD)), 24);
  EXPECT_EQ(value_of<std::int32_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)), 1);
  EXPECT_EQ(value_of<std::int64_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)), 0);

  cublasLtMatmulPreferenceOpaque_t preference;
  ASSERT_EQ(cublasLtMatmulPreferenceInit(&preference), kGood);
  EXPECT_EQ(value_of<std::uint64_t>(attribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)), 0U);
  EXPECT_EQ(value_of<std::uint32_t>(attribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)),
            CUBLASLT_REDUCTION_SCHEME_MASK);
  for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    EXPECT_EQ(value_of<std::uint32_t>(attribute(preference, operand)), 256U);
  }

  // Values are not looked at before there is something to compute.
  const std::int32_t odd = 12345;
  for (const int number : {CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_MATMUL_DESC_TRANSA,
                           CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE}) {
    EXPECT_EQ(attribute(product, number).set(&odd, sizeof odd), kGood) << number;
    EXPECT_EQ(value_of<std::int32_t>(attribute(product, number)), odd);
  }
  EXPECT_EQ(attribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER).set(&odd, sizeof odd), kGood);
  EXPECT_EQ(cublasLtMatrixLayoutInit(&layout, CUDA_R_16F, 8, 8, -1), kGood);
}

TEST(CublasLtLibrary, WithoutAnObjectNothingIsDone) {
  const std::uint64_t value = 0;
  std::size_t written = 77;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(nullptr, CUBLASLT_MATMUL_DESC_TRANSA, &value, 4), kInvalid);
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(nullptr, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &value, 4), kInvalid);
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(nullptr, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &value, 8),
            kInvalid);
  EXPECT_EQ(cublasLtMatmulAlgoConfigGetAttribute(nullptr, CUBLASLT_ALGO_CONFIG_ID, nullptr, 0, &written), kInvalid);
  EXPECT_EQ(cublasLtMatrixLayoutInit(nullptr, CUDA_R_16F, 8, 8, 8), kInvalid);
  EXPECT_EQ(cublasLtMatmulPreferenceInit(nullptr), kInvalid);
  EXPECT_EQ(cublasLtCreate(nullptr), kInvalid);
  EXPECT_EQ(cublasLtDestroy(nullptr), kInvalid);
  EXPECT_EQ(written, 77U);
}

TEST(CublasLtLibrary, MessagesReadTheSame) {
  const std::pair<int, std::pair<const char*, const char*>> all[] = {
      {0, {"CUBLAS_STATUS_SUCCESS", "success"}},
      {1, {"CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"}},
      {3, {"CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"}},
      {7, {"CUBLAS_STATUS_INVALID_VALUE", "an unsupported value or parameter was passed to the function"}},
      {8, {"CUBLAS_STATUS_ARCH_MISMATCH", "the function requires an architectural feature absent from the device"}},
      {11, {"CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"}},
      {13, {"CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"}},
      {14, {"CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"}},
      {15, {"CUBLAS_STATUS_NOT_SUPPORTED", "the requested functionality is not supported"}},
      {16, {"CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"}},
      {99, {"unrecognized status", "unrecognized status"}},
  };
  for (const auto& [code, texts] : all) {
    EXPECT_STREQ(cublasLtGetStatusName(static_cast<cublasStatus_t>(code)), texts.first);
    EXPECT_STREQ(cublasLtGetStatusString(static_cast<cublasStatus_t>(code)), texts.second);
  }
  EXPECT_STREQ(cudaGetErrorString(cudaErrorUnsupportedPtxVersion),
               "the provided PTX was compiled with an unsupported toolchain.");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInsufficientDriver), "cudaErrorInsufficientDriver");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
  EXPECT_GE(cublasLtGetVersion(), 120000U);
}

// ---- as kernels/cuda asks (matmul_form.h) ----

/// Products of every kind that the backend has.
std::vector<MatmulForm> forms() {
  alignas(256) static const std::array<std::byte, 512> memory{};
  std::vector<MatmulForm> all;
  for (const Element element : {Element::f16, Element::bf16, Element::f32}) {
    MatmulForm form;
    form.element = element;
    form.out = 1536, form.in = 384;
    form.x_stride = 384, form.y_stride = 1536;
    form.weight = memory.data();
    all.push_back(form);
    form.bias = memory.data() + 256;
    all.push_back(form);
    form.gelu = true;
    all.push_back(form);
    form.gelu = false, form.bias = nullptr, form.float_result = true;
    all.push_back(form);
    form.float_result = false, form.weight_is_transposed = true;
    form.batch = 12, form.in = 32, form.out = 384, form.x_stride = 384, form.y_stride = 12 * 384;
    form.x_batch = 32, form.weight_batch = std::int64_t{32} * 384, form.y_batch = 384;
    all.push_back(form);
  }
  MatmulForm tf32 = all.back();
  tf32.tf32 = true;
  all.push_back(tf32);
  return all;
}

TEST(CublasLtForms, EveryFormIsDescribedAsItIs) {
  for (const MatmulForm& form : forms()) {
    cublasLtMatmulDescOpaque_t product = describe_product(form, 0);
    EXPECT_EQ(value_of<std::int32_t>(attribute(product, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE)),
              form.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
    EXPECT_EQ(value_of<std::int32_t>(attribute(product, CUBLASLT_MATMUL_DESC_TRANSA)),
              form.weight_is_transposed ? CUBLAS_OP_N : CUBLAS_OP_T);
    EXPECT_EQ(value_of<std::uint32_t>(attribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE)),
              form.bias == nullptr ? CUBLASLT_EPILOGUE_DEFAULT
              : form.gelu          ? CUBLASLT_EPILOGUE_GELU_BIAS
                                   : CUBLASLT_EPILOGUE_BIAS);
    EXPECT_EQ(value_of<const void*>(attribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER)), form.bias);

    const std::int32_t type = form.element == Element::f32   ? CUDA_R_32F
                              : form.element == Element::f16 ? CUDA_R_16F
                                                             : CUDA_R_16BF;
    cublasLtMatrixLayoutOpaque_t weight = layout_of_weight(form, 0), x = layout_of_x(form, 13, 0),
                                 y = layout_of_y(form, 13, 0);
    const auto expect = [&](cublasLtMatrixLayoutOpaque_t& layout, std::int32_t of_type, int rows, int columns,
                            int leading, std::int64_t stride) {
      EXPECT_EQ(value_of<std::int32_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_TYPE)), of_type);
      EXPECT_EQ(value_of<std::uint64_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS)), std::uint64_t(rows));
      EXPECT_EQ(value_of<std::uint64_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_COLS)), std::uint64_t(columns));
      EXPECT_EQ(value_of<std::int64_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_LD)), leading);
      EXPECT_EQ(value_of<std::int32_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)), form.batch);
      EXPECT_EQ(value_of<std::int64_t>(attribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)), stride);
    };
    const int of_weight = form.weight_is_transposed ? form.out : form.in;
    expect(weight, type, of_weight, form.in + form.out - of_weight, of_weight, form.weight_batch);
    expect(x, type, form.in, 13, form.x_stride, form.x_batch);
    expect(y, form.float_result ? CUDA_R_32F : type, form.out, 13, form.y_stride, form.y_batch);

    constexpr std::size_t room = std::size_t{32} << 20;
    cublasLtMatmulPreferenceOpaque_t preference = describe_preference(form, room, 0);
    EXPECT_EQ(value_of<std::uint64_t>(attribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)), room);
    EXPECT_EQ(value_of<std::uint32_t>(attribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)),
              CUBLASLT_REDUCTION_SCHEME_NONE);
    const std::uint32_t of_x = form.batch == 1 ? 256 : 32 * static_cast<std::uint32_t>(size_of(form.element));
    EXPECT_EQ(value_of<std::uint32_t>(attribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)), 256U);
    EXPECT_EQ(value_of<std::uint32_t>(attribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)), of_x);
    EXPECT_EQ(value_of<std::uint32_t>(attribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)), 256U);
  }
}

TEST(CublasLtForms, AnAlgorithmsConfigurationIsRead) {
  cublasLtMatmulAlgo_t algorithm{};
  const std::uint32_t tile = 18, stages = 5, one = 1, split = 4, reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const std::uint16_t cluster = 3;
  ASSERT_EQ(attribute(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID).set(&tile, sizeof tile), kGood);
  ASSERT_EQ(attribute(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID).set(&stages, sizeof stages), kGood);
  ASSERT_EQ(attribute(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID).set(&cluster, sizeof cluster), kGood);
  ASSERT_EQ(attribute(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM).set(&one, sizeof one), kGood);
  EXPECT_EQ(describe_algorithm(algorithm, 0), "algorithm 0 tile 18 stages 5 cluster 3");
  EXPECT_TRUE(sums_at_once(algorithm, 0));
  ASSERT_EQ(attribute(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME).set(&reduction, sizeof reduction), kGood);
  EXPECT_FALSE(sums_at_once(algorithm, 0));
  const std::uint32_t none = CUBLASLT_REDUCTION_SCHEME_NONE;
  ASSERT_EQ(attribute(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME).set(&none, sizeof none), kGood);
  ASSERT_EQ(attribute(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM).set(&split, sizeof split), kGood);
  EXPECT_FALSE(sums_at_once(algorithm, 0));
}

TEST(CublasLtForms, AnErrorNamesTheLibrarysMessageAndVersion) {
  relucent::testing::expect_error(
      ErrorKind::device,
      {"cuda:7", "describing failed: the requested functionality is not supported (cublasLt " +
                     std::to_string(cublasLtGetVersion()) + ")"},
      [] { check(CUBLAS_STATUS_NOT_SUPPORTED, 7, "describing"); });
}

/// Asks the library for a form's algorithms: counts those that it proposes, and reads and checks each.
cublasStatus_t propose(cublasLtHandle_t handle, const MatmulForm& form, int& count) {
  cublasLtMatmulDescOpaque_t product = describe_product(form, 0);
  cublasLtMatrixLayoutOpaque_t weight = layout_of_weight(form, 0), x = layout_of_x(form, 128, 0),
                               y = layout_of_y(form, 128, 0);
  cublasLtMatmulPreferenceOpaque_t preference = describe_preference(form, 0, 0);
  std::array<cublasLtMatmulHeuristicResult_t, 32> found{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, &product, &weight, &x, &y, &y, &preference, 32, found.data(), &count);
  for (int i = 0; status == kGood && i < count; ++i) {
    cublasLtMatmulHeuristicResult_t result{};
    EXPECT_EQ(cublasLtMatmulAlgoCheck(handle, &product, &weight, &x, &y, &y, &found[i].algo, &result), kGood);
    EXPECT_FALSE(describe_algorithm(found[i].algo, 0).empty());
    EXPECT_TRUE(sums_at_once(found[i].algo, 0)) << describe_algorithm(found[i].algo, 0);
  }
  return status;
}

void expect_not_initialized(const MatmulForm& form) {
  int count = 77;
  EXPECT_EQ(propose(nullptr, form, count), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(count, 77);
  cublasLtMatmulDescOpaque_t product = describe_product(form, 0);
  cublasLtMatrixLayoutOpaque_t weight = layout_of_weight(form, 0), x = layout_of_x(form, 1, 0),
                               y = layout_of_y(form, 1, 0);
  const cublasLtMatmulAlgo_t algorithm{};
  cublasLtMatmulHeuristicResult_t result{};
  EXPECT_EQ(cublasLtMatmulAlgoCheck(nullptr, &product, &weight, &x, &y, &y, &algorithm, &result),
            CUBLAS_STATUS_NOT_INITIALIZED);
  const float one = 1, zero = 0;
  std::array<float, 16> memory{};
  EXPECT_EQ(cublasLtMatmul(nullptr, &product, &one, memory.data(), &weight, memory.data(), &x, &zero, memory.data(), &y,
                           memory.data(), &y, &algorithm, nullptr, 0, nullptr),
            CUBLAS_STATUS_NOT_INITIALIZED);
}

// The one part that a device changes: with one, every form has algorithms.
TEST(CublasLtDevice, ProposesForEveryFormOrIsNotInitialized) {
  for (const bool driver : {true, false}) {
    use_driver(driver);
    auto* const untouched = reinterpret_cast<cublasLtHandle_t>(8);
    cublasLtHandle_t handle = untouched;
    const cublasStatus_t created = cublasLtCreate(&handle);
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) {
      ASSERT_EQ(created, kGood);
      for (const MatmulForm& form : forms()) {
        int count = 0;
        EXPECT_EQ(propose(handle, form, count), kGood);
        EXPECT_GT(count, 0);
      }
      EXPECT_EQ(cublasLtDestroy(handle), kGood);
      continue;
    }
    cudaGetLastError();
    EXPECT_EQ(created, CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(handle, untouched);
    for (const MatmulForm& form : forms()) expect_not_initialized(form);
  }
  use_driver(true);
}

// A machine without a driver, such as one that only builds: what fails writes nothing.
TEST(CudaRuntimeLibrary, WithoutADriverEveryCallReportsItAndWritesNothing) {
  use_driver(false);
  int version = 77;
  ASSERT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  if (version != 0) {  // the machine has one: the real runtime cannot be asked
    EXPECT_GE(version, 12000);
    return;
  }
  ASSERT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
  int count = 77;
  cudaDeviceProp properties{};
  auto* const untouched = reinterpret_cast<void*>(8);
  void* memory = untouched;
  std::size_t free = 77, total = 77;
  auto stream = static_cast<cudaStream_t>(untouched);
  auto event = static_cast<cudaEvent_t>(untouched);
  const cudaError_t none = cudaErrorInsufficientDriver;
  EXPECT_EQ(cudaGetDeviceCount(&count), none);
  EXPECT_EQ(cudaGetLastError(), none);
  EXPECT_EQ(cudaGetLastError(), none) << "it stays";
  EXPECT_EQ(cudaGetDevice(&count), none);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), none);
  EXPECT_EQ(cudaMalloc(&memory, 8), none);
  EXPECT_EQ(cudaMallocHost(&memory, 8), none);
  EXPECT_EQ(cudaMemGetInfo(&free, &total), none);
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), none);
  EXPECT_EQ(cudaEventCreate(&event), none);
  EXPECT_EQ(cudaFree(nullptr), none);
  EXPECT_EQ(cudaFreeHost(nullptr), none);
  EXPECT_EQ(cudaStreamQuery(nullptr), none);
  EXPECT_EQ(cudaStreamDestroy(nullptr), none);
  EXPECT_EQ(cudaEventQuery(nullptr), none);
  EXPECT_EQ(cudaEventDestroy(nullptr), none);
  EXPECT_EQ(cudaMemsetAsync(memory, 0, 4, nullptr), none);
  EXPECT_EQ(cudaMemcpyAsync(memory, memory, 4, cudaMemcpyHostToDevice, nullptr), none);
  EXPECT_EQ(count, 77);
  EXPECT_EQ(memory, untouched);
  EXPECT_EQ(free, 77U);
  EXPECT_EQ(total, 77U);
  EXPECT_EQ(static_cast<void*>(stream), untouched);
  EXPECT_EQ(static_cast<void*>(event), untouched);
#if CUDART_VERSION >= 12050
  auto result = static_cast<cudaDriverEntryPointQueryResult>(77);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuDeviceGet", &memory, 12000, cudaEnableDefault, &result), none);
  EXPECT_EQ(memory, untouched);
  EXPECT_EQ(static_cast<int>(result), 77);
#endif
  use_driver(true);
}

}  // namespace
}  // namespace relucent::cuda
