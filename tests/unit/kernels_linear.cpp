#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "cpu/linear_primitive.h"
#include "cpu/thread_pool.h"
#include "relucent/error.h"

namespace relucent::cpu {
namespace {

const VectorKernels& best_kernels() {
  const VectorLevels levels = available_vector_kernels();
  return *levels.levels[levels.count - 1];
}

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8) * 0x1p-23F - 1.0F;
  }
  return values;
}

struct Differences {
  double product = 0, gelu = 0;
};

// Compares a product of the primitive with sgemm's, for 1 to 120 rows on three threads at once.
Differences against_sgemm(const Linear& primitive, const Linear& sgemm) {
  const VectorKernels& kernels = best_kernels();
  const std::size_t in = primitive.inputs(), out = primitive.outputs();
  ThreadPool pool(3);
  std::vector<Differences> found(40);
  pool.run(found.size(), [&](std::size_t index, int) {
    const std::size_t rows = 1 + 3 * index, room = tile_rows(rows) * out;
    const std::vector<float> x = numbers(tile_rows(rows) * in, static_cast<std::uint32_t>(index));
    std::vector<float> ours(room), plain(room);
    Operand operand, ours_activated, plain_activated;
    operand.assign(Arithmetic::fp32, kernels, x.data(), rows, in);
    primitive.multiply(operand, rows, ours.data());
    sgemm.multiply(operand, rows, plain.data());
    for (std::size_t i = 0; i < rows * out; ++i) {
      found[index].product = std::max<double>(found[index].product, std::abs(ours[i] - plain[i]));
    }
    primitive.multiply_gelu(operand, rows, ours.data(), ours_activated);
    sgemm.multiply_gelu(operand, rows, plain.data(), plain_activated);
    const auto* a = static_cast<const float*>(ours_activated.data());
    const auto* b = static_cast<const float*>(plain_activated.data());
    for (std::size_t i = 0; i < rows * out; ++i) {
      found[index].gelu = std::max<double>(found[index].gelu, std::abs(a[i] - b[i]));
    }
  });
  Differences worst;
  for (const Differences& one : found) {
    worst.product = std::max(worst.product, one.product);
    worst.gelu = std::max(worst.gelu, one.gelu);
  }
  return worst;
}

// The bf16 products' packing, bias, activation, tile rows and threads, in the data type that every processor has.
TEST(LinearPrimitive, EqualsSgemmForAnyRowsOnAnyThread) {
  for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{384, 1152}, {1536, 384}, {96, 80}, {100, 47}, {7, 1}}) {
    std::vector<float> weight = numbers(in * out, 1);
    for (float& value : weight) value *= 0.1F;
    const std::vector<float> bias = numbers(out, 2);
    const auto primitive = make_linear_primitive(OperandType::f32, best_kernels(), weight, bias);
    const auto sgemm = make_linear(Arithmetic::fp32, best_kernels(), weight, bias);
    ASSERT_EQ(primitive->inputs(), in);
    ASSERT_EQ(primitive->outputs(), out);
    const Differences worst = against_sgemm(*primitive, *sgemm);
    EXPECT_LE(worst.product, 2e-5) << in << " x " << out;
    EXPECT_LE(worst.gelu, 2e-5) << in << " x " << out;
  }
}

TEST(LinearPrimitive, NativeBf16EqualsTheEmulated) {
  if (!has_native_bf16()) GTEST_SKIP() << "SKIPPED: this processor has neither AVX-512 BF16 nor AMX";
  constexpr std::size_t rows = 37, in = 384, out = 96;
  const VectorKernels& kernels = best_kernels();
  const std::vector<float> x = numbers(rows * in, 3), weight = numbers(in * out, 4), bias = numbers(out, 5);
  const auto native = make_linear(Arithmetic::bf16, kernels, weight, bias);
  const auto emulated = make_linear(Arithmetic::bf16_emulated, kernels, weight, bias);
  ThreadPool pool(1);
  std::vector<float> a(tile_rows(rows) * out), b(tile_rows(rows) * out);
  pool.run(1, [&](std::size_t, int) {
    Operand operand;
    operand.assign(Arithmetic::bf16, kernels, x.data(), rows, in);
    native->multiply(operand, rows, a.data());
    operand.assign(Arithmetic::bf16_emulated, kernels, x.data(), rows, in);
    emulated->multiply(operand, rows, b.data());
  });
  for (std::size_t i = 0; i < rows * out; ++i) ASSERT_NEAR(a[i], b[i], 1e-3) << i;
}

}  // namespace
}  // namespace relucent::cpu
