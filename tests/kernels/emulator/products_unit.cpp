// cuBLASLt's products against a double loop: every transposition, epilogue and type, batches, leading dimensions, beta.
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

#include "cublasLt.h"
#include "tests/kernels/emulator/support.h"

namespace relucent::emulator_test {
namespace {

using emulator::Fault;

struct Shape {
  std::int64_t m, n, k;
  int batches = 1;
  std::int64_t padding = 0;  // of every leading dimension
};

float as_float(int type, const unsigned char* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, 2);
  if (type == CUDA_R_16F) {
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
  }
  float value;
  if (type == CUDA_R_16BF) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    std::memcpy(&value, &wide, 4);
  } else {
    std::memcpy(&value, at, 4);
  }
  return value;
}

void put(int type, unsigned char* at, float value) {
  if (type == CUDA_R_32F) {
    std::memcpy(at, &value, 4);
    return;
  }
  const std::uint16_t bits = type == CUDA_R_16F ? __float2half_rn(value).bits : __float2bfloat16_rn(value).bits;
  std::memcpy(at, &bits, 2);
}

/// A column-major matrix, or a batch of them, here and on the device.
struct Matrix {
  Matrix(cudaDataType of, std::int64_t r, std::int64_t c, const Shape& shape, unsigned seed)
      : type(of),
        rows(r),
        columns(c),
        leading(r + shape.padding),
        batches(shape.batches),
        stride(leading * columns + 3 * shape.padding),
        bytes(static_cast<std::size_t>(stride * batches * size()), 0x11) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int batch = 0; batch < batches; ++batch) {
      for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t row = 0; row < rows; ++row) {
          put(type, &bytes[offset(batch, row, column)], uniform(random));
        }
      }
    }
    cublasLtMatrixLayoutInit(layout, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                             leading);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
    EXPECT_EQ(cudaMalloc(&device, bytes.size()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(device, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  Matrix(const Matrix&) = delete;
  ~Matrix() { cudaFree(device); }
  std::int64_t size() const { return type == CUDA_R_32F ? 4 : 2; }
  std::size_t offset(int batch, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>((batch * stride + column * leading + row) * size());
  }
  float at(int batch, std::int64_t row, std::int64_t column) const {
    return as_float(type, &bytes[offset(batch, row, column)]);
  }
  void fetch() { EXPECT_EQ(cudaMemcpy(bytes.data(), device, bytes.size(), cudaMemcpyDeviceToHost), cudaSuccess); }

  cudaDataType type;
  std::int64_t rows, columns, leading;
  std::int32_t batches;
  std::int64_t stride;
  std::vector<unsigned char> bytes;
  unsigned char* device = nullptr;
  cublasLtMatrixLayoutOpaque_t own_layout;
  cublasLtMatrixLayout_t layout = &own_layout;
};

struct Operation {
  Operation(cublasComputeType_t compute, bool ta, bool tb, int epilogue, const void* bias) {
    EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulDescInit(description, compute, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulPreferenceInit(preference), CUBLAS_STATUS_SUCCESS);
    set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(ta ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(tb ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::int32_t>(epilogue));
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  Operation(const Operation&) = delete;
  ~Operation() { cublasLtDestroy(handle); }
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t heuristic(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d,
                           cublasLtMatmulHeuristicResult_t& result) {
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, description, a.layout, b.layout, c.layout,
                                                                 d.layout, preference, 1, &result, &found);
    EXPECT_EQ(found, status == CUBLAS_STATUS_SUCCESS ? 1 : 0);
    return status;
  }
  cublasStatus_t multiply(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d, float alpha = 1,
                          float beta = 0, const cublasLtMatmulAlgo_t* algo = nullptr) {
    return cublasLtMatmul(handle, description, &alpha, a.device, a.layout, b.device, b.layout, &beta, c.device,
                          c.layout, d.device, d.layout, algo, nullptr, 0, nullptr);
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDescOpaque_t own_description;
  cublasLtMatmulPreferenceOpaque_t own_preference;
  cublasLtMatmulDesc_t description = &own_description;
  cublasLtMatmulPreference_t preference = &own_preference;
};

using Products = EmulatorTest;
using Case = std::tuple<std::pair<cudaDataType, cudaDataType>, bool, bool, int, float>;
class EveryProduct : public EmulatorTest, public ::testing::WithParamInterface<Case> {};

TEST_P(EveryProduct, EqualsADoubleLoop) {
  const auto& [types, ta, tb, epilogue, beta] = GetParam();
  const auto [in, out] = types;
  for (const Shape& shape : {Shape{5, 3, 7}, Shape{33, 70, 40, 1, 8}, Shape{16, 9, 24, 3, 8}}) {
    const Matrix a(in, ta ? shape.k : shape.m, ta ? shape.m : shape.k, shape, 1);
    const Matrix b(in, tb ? shape.n : shape.k, tb ? shape.k : shape.n, shape, 2);
    Matrix d(out, shape.m, shape.n, shape, 3);
    const Matrix before(out, shape.m, shape.n, shape, 3);
    const Matrix bias(out, shape.m, 1, {0, 0, 0}, 4);
    Operation operation(CUBLAS_COMPUTE_32F, ta, tb, epilogue, bias.device);
    cublasLtMatmulHeuristicResult_t result;
    ASSERT_EQ(operation.heuristic(a, b, d, d, result), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(operation.multiply(a, b, d, d, 0.5F, beta, &result.algo), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    d.fetch();
    const double rounding = out == CUDA_R_32F ? 1e-6 : out == CUDA_R_16F ? 1.0 / 1024 : 1.0 / 128;
    for (int batch = 0; batch < shape.batches; ++batch) {
      for (std::int64_t i = 0; i < shape.m; ++i) {
        for (std::int64_t j = 0; j < shape.n; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < shape.k; ++k) {
            sum +=
                double{ta ? a.at(batch, k, i) : a.at(batch, i, k)} * double{tb ? b.at(batch, j, k) : b.at(batch, k, j)};
          }
          double expected = 0.5 * sum + beta * before.at(batch, i, j);
          if (epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS) {
            expected += bias.at(0, i, 0);
          }
          if (epilogue == CUBLASLT_EPILOGUE_GELU_BIAS) {
            const double x = expected;
            expected = x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));  // x/2 (1 + tanh ...)
          }
          ASSERT_NEAR(d.at(batch, i, j), expected, 4e-6 + rounding * std::fabs(expected));
        }
      }
    }
    // Nothing between the columns or the batches was touched.
    for (std::size_t i = 0; i < d.bytes.size(); ++i) {
      const auto element = static_cast<std::int64_t>(i) / d.size() % d.stride;
      if (element / d.leading >= d.columns || element % d.leading >= d.rows) {
        ASSERT_EQ(d.bytes[i], 0x11);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryProduct,
    ::testing::Combine(::testing::Values(std::pair{CUDA_R_32F, CUDA_R_32F}, std::pair{CUDA_R_16F, CUDA_R_16F},
                                         std::pair{CUDA_R_16F, CUDA_R_32F}, std::pair{CUDA_R_16BF, CUDA_R_16BF},
                                         std::pair{CUDA_R_16BF, CUDA_R_32F}),
                       ::testing::Bool(), ::testing::Bool(),
                       ::testing::Values(CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS,
                                         CUBLASLT_EPILOGUE_GELU_BIAS),
                       ::testing::Values(0.0F, 1.0F)));

TEST_F(Products, AColumnsSumDependsOnNoOtherColumn) {
  const Shape wide{64, 300, 200};
  const Matrix a(CUDA_R_32F, 64, 200, wide, 1);
  const Matrix b(CUDA_R_32F, 200, 300, wide, 2);
  Matrix d(CUDA_R_32F, 64, 300, wide, 3);
  Operation operation(CUBLAS_COMPUTE_32F_PEDANTIC, false, false, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  ASSERT_EQ(operation.multiply(a, b, d, d), CUBLAS_STATUS_SUCCESS);
  d.fetch();
  for (const std::int64_t column : {0, 1, 63, 64, 150, 299}) {
    Matrix one(CUDA_R_32F, 200, 1, {64, 1, 200}, 2);
    Matrix sum(CUDA_R_32F, 64, 1, {64, 1, 200}, 3);
    ASSERT_EQ(cudaMemcpy(one.device, &b.bytes[b.offset(0, 0, column)], 800, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(operation.multiply(a, one, sum, sum), CUBLAS_STATUS_SUCCESS);
    sum.fetch();
    for (std::int64_t row = 0; row < 64; ++row) {
      ASSERT_EQ(sum.at(0, row, 0), d.at(0, row, column)) << "column " << column;
    }
  }
}

void expect_one(Fault fault, const std::string& words) {
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);
  const std::vector<emulator::Report> found = emulator::reports();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].fault, fault);
  EXPECT_NE(found[0].message.find(words), std::string::npos) << found[0].message;
  EXPECT_EQ(found[0].kernel, "cublasLtMatmul");
  emulator::restore_device(0);
  emulator::clear_reports();
}

TEST_F(Products, AlgorithmsForFewColumnsMayAddInAnotherOrder) {
  const Shape wide{64, 1000, 200};
  const Matrix a(CUDA_R_16F, 64, 200, wide, 1);
  const Matrix b(CUDA_R_16F, 200, 1000, wide, 2);
  Matrix d(CUDA_R_32F, 64, 1000, wide, 3), few(CUDA_R_32F, 64, 100, {64, 100, 200}, 3);
  Operation operation(CUBLAS_COMPUTE_32F, false, false, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  cublasLtMatmulHeuristicResult_t results[8];
  int found = 0;
  ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(operation.handle, operation.description, a.layout, b.layout, few.layout,
                                           few.layout, operation.preference, 8, results, &found),
            CUBLAS_STATUS_INVALID_VALUE);
  Matrix left(CUDA_R_16F, 200, 100, {64, 100, 200}, 2);
  ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(operation.handle, operation.description, a.layout, left.layout, few.layout,
                                           few.layout, operation.preference, 8, results, &found),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(found, 3);
  const auto product = [&](const cublasLtMatmulAlgo_t* algorithm) {
    EXPECT_EQ(operation.multiply(a, b, d, d, 1, 0, algorithm), CUBLAS_STATUS_SUCCESS);
    d.fetch();
    return d.bytes;
  };
  const std::vector<unsigned char> straight = product(nullptr);
  EXPECT_NE(product(&results[0].algo), straight);
  EXPECT_EQ(product(&results[1].algo), straight);
  EXPECT_EQ(product(&results[2].algo), straight);
}

TEST_F(Products, ADescriptorThatWasNotInitializedIsRefused) {
  const Shape shape{1, 1, 1};
  Matrix a(CUDA_R_32F, 1, 1, shape, 1);
  Operation operation(CUBLAS_COMPUTE_32F, false, false, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  ASSERT_EQ(operation.multiply(a, a, a, a), CUBLAS_STATUS_SUCCESS);
  expect_one(Fault::race, "D overlaps");
  a.own_layout = {};
  EXPECT_EQ(operation.multiply(a, a, a, a), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Products, Tf32KeepsTenBitsOfTheOperands) {
  const Shape shape{1, 1, 1};
  const Matrix a(CUDA_R_32F, 1, 1, shape, 1);
  const Matrix b(CUDA_R_32F, 1, 1, shape, 1);
  Matrix d(CUDA_R_32F, 1, 1, shape, 1);
  Operation operation(CUBLAS_COMPUTE_32F_FAST_TF32, false, false, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  for (const auto& [given, kept] : {std::pair{1 + 0x1p-10F, 1 + 0x1p-10F}, std::pair{1 + 0x1p-12F, 1.0F},
                                    std::pair{1 + 0x1.8p-10F, 1 + 0x1p-9F}, std::pair{-1 - 0x1p-11F, -1.0F}}) {
    const float one = 1;
    ASSERT_EQ(cudaMemcpy(a.device, &given, 4, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(b.device, &one, 4, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(operation.multiply(a, b, d, d), CUBLAS_STATUS_SUCCESS);
    d.fetch();
    EXPECT_EQ(d.at(0, 0, 0), kept);
  }
}

TEST_F(Products, OperandsAreCheckedAgainstTheirAllocations) {
  const Shape shape{8, 6, 4};
  const Matrix a(CUDA_R_32F, 8, 4, shape, 1);
  const Matrix b(CUDA_R_32F, 4, 6, shape, 2);
  const Matrix d(CUDA_R_32F, 8, 6, shape, 3);
  Matrix small(CUDA_R_32F, 8, 5, shape, 4);
  Operation operation(CUBLAS_COMPUTE_32F, false, false, CUBLASLT_EPILOGUE_BIAS, small.device + 150);
  Operation plain(CUBLAS_COMPUTE_32F, false, false, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  ASSERT_EQ(operation.multiply(a, b, d, d), CUBLAS_STATUS_SUCCESS);
  expect_one(Fault::out_of_bounds, "a read of 32 bytes at byte 150 of an allocation of 160");
  cublasLtMatrixLayout_t const own = std::exchange(small.layout, d.layout);
  ASSERT_EQ(plain.multiply(a, b, d, small), CUBLAS_STATUS_SUCCESS);
  expect_one(Fault::out_of_bounds, "a write of 192 bytes at byte 0 of an allocation of 160");
  small.layout = own;

  unsigned char* const initialised = std::exchange(const_cast<Matrix&>(a).device, nullptr);
  ASSERT_EQ(cudaMalloc(&const_cast<Matrix&>(a).device, 128), cudaSuccess);
  ASSERT_EQ(cudaMemset(a.device, 0, 100), cudaSuccess);
  ASSERT_EQ(plain.multiply(a, b, d, d), CUBLAS_STATUS_SUCCESS);
  expect_one(Fault::uninitialised, "byte 100 of an allocation of 128");
  cudaFree(initialised);

  const Matrix square(CUDA_R_32F, 4, 4, {4, 4, 4}, 5);
  ASSERT_EQ(plain.multiply(square, square, square, square), CUBLAS_STATUS_SUCCESS);
  expect_one(Fault::race, "D overlaps");
}

TEST_F(Products, WhatCublasLtRefusesIsRefused) {
  const Shape shape{8, 6, 4};
  const Matrix a(CUDA_R_16F, 8, 4, shape, 1);
  const Matrix b(CUDA_R_16F, 4, 6, shape, 2);
  const Matrix other(CUDA_R_16BF, 4, 6, shape, 2);
  const Matrix d(CUDA_R_16F, 8, 6, shape, 3);
  const Matrix narrow(CUDA_R_16F, 8, 5, shape, 3);
  cublasLtMatmulHeuristicResult_t result;
  Operation operation(CUBLAS_COMPUTE_32F, false, false, CUBLASLT_EPILOGUE_DEFAULT, nullptr);
  EXPECT_EQ(operation.heuristic(a, b, narrow, narrow, result), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(operation.heuristic(a, other, d, d, result), CUBLAS_STATUS_NOT_SUPPORTED);
  ASSERT_EQ(operation.heuristic(a, b, d, d, result), CUBLAS_STATUS_SUCCESS);
  // The pointers promised 256 bytes' alignment unless the preference asks for less.
  Matrix shifted(CUDA_R_16F, 8, 12, shape, 3);
  shifted.device += 16;
  std::swap(shifted.layout, const_cast<Matrix&>(d).layout);
  EXPECT_EQ(operation.multiply(a, b, shifted, shifted, 1, 0, &result.algo), CUBLAS_STATUS_INVALID_VALUE);
  const std::uint32_t sixteen = 16;
  for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    ASSERT_EQ(cublasLtMatmulPreferenceSetAttribute(operation.preference, operand, &sixteen, 4), CUBLAS_STATUS_SUCCESS);
  }
  ASSERT_EQ(operation.heuristic(a, b, shifted, shifted, result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(operation.multiply(a, b, shifted, shifted, 1, 0, &result.algo), CUBLAS_STATUS_SUCCESS);
  std::swap(shifted.layout, const_cast<Matrix&>(d).layout);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  shifted.device -= 16;
  // A workspace that the algorithm wants has to be given.
  const std::uint64_t room = 1 << 20;
  ASSERT_EQ(
      cublasLtMatmulPreferenceSetAttribute(operation.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, 8),
      CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(operation.heuristic(a, b, d, d, result), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(result.workspaceSize, 0U);
  EXPECT_EQ(operation.multiply(a, b, d, d, 1, 0, &result.algo), CUBLAS_STATUS_INVALID_VALUE);
  std::uint32_t splits = 9;
  std::size_t written = 0;
  EXPECT_EQ(cublasLtMatmulAlgoConfigGetAttribute(&result.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, 4, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(splits, 1U);
  EXPECT_EQ(written, 4U);
  EXPECT_STREQ(cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "the requested functionality is not supported");
}

}  // namespace
}  // namespace relucent::emulator_test
