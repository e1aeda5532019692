// One thread's matrix products of MiniLM's shapes: every instruction set and arithmetic of this processor, in GFLOP/s
// (int16, int8: GOP/s), next to oneDNN's for the same shape in the same run.
//   build/release/tests/product_benchmark
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/cpu/packed_linear.h"
#include "kernels/cpu/vector_kernels.h"

namespace {

using namespace relucent::cpu;

constexpr std::size_t kTokens = 384;
constexpr int kRounds = 15;

struct Shape {
  const char* name;
  std::size_t inputs, outputs;
};
constexpr Shape kShapes[] = {{"query, key, value", 384, 1152}, {"intermediate", 384, 1536}, {"output", 1536, 384}};

/// Billions of operations per second: the median of some rounds.
template <typename Work>
double rate(const Shape& shape, const Work& work) {
  std::vector<double> seconds;
  for (int round = -1; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    if (round >= 0) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  return 2e-9 * static_cast<double>(shape.inputs * shape.outputs * kTokens) / seconds[kRounds / 2];
}

double ours(const VectorKernels& kernels, Arithmetic arithmetic, const Shape& shape) {
  std::vector<float> weight(shape.inputs * shape.outputs);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i % 7) - 3;
  const PackedLinear linear(arithmetic, kernels.layout, weight, std::vector<float>(shape.outputs), shape.inputs);
  std::vector<float> x(shape.inputs * kTokens), operand(x.size()), scales(kTokens), y(shape.outputs * kTokens);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
  const std::size_t vectors = kTokens / kernels.lanes;
  kernels.pack(x.data(), shape.inputs, vectors, {arithmetic, operand.data(), scales.data()});
  Product product = linear.product();
  product.operand = operand.data();
  product.token_scales = scales.data();
  product.vectors = vectors;
  product.out = y.data();
  product.panel_stride = shape.outputs * kernels.panel;
  product.feature_stride = kernels.panel;
  return rate(shape, [&] { kernels.product(product); });
}

/// 0 where oneDNN refuses.
double onednn(dnnl::memory::data_type type, const Shape& shape) try {
  using dnnl::memory;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto rows = static_cast<memory::dim>(kTokens), in = static_cast<memory::dim>(shape.inputs);
  const auto out = static_cast<memory::dim>(shape.outputs);
  const bool bytes = type == memory::data_type::s8;
  const memory::desc source({rows, in}, bytes ? memory::data_type::u8 : type, memory::format_tag::ab);
  const memory::desc weights({in, out}, type, memory::format_tag::any);
  const memory::desc destination({rows, out}, bytes ? memory::data_type::s32 : memory::data_type::f32,
                                 memory::format_tag::ab);
  const dnnl::matmul::primitive_desc description({source, weights, destination}, engine);
  memory x(source, engine), w(description.weights_desc(), engine), y(destination, engine);
  const dnnl::matmul primitive(description);
  const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}};
  return rate(shape, [&] {
    primitive.execute(stream, arguments);
    stream.wait();
  });
} catch (const dnnl::error&) {
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  // OpenMP, which oneDNN runs on, reads this when it is loaded.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", arguments);
  }
  std::printf("%-14s %-14s", "", "");
  for (const Shape& shape : kShapes) std::printf(" %18s", shape.name);
  std::printf("\n");
  const auto line = [](const char* who, const char* what, const auto& rate_of) {
    std::printf("%-14s %-14s", who, what);
    for (const Shape& shape : kShapes) std::printf(" %18.0f", rate_of(shape));
    std::printf("\n");
  };
  const VectorLevels levels = available_vector_kernels();
  for (std::size_t i = 0; i < levels.count; ++i) {
    const VectorKernels& kernels = *levels.levels[i];
    if (!kernels.automatic) continue;
    line(kernels.name, "fp32", [&](const Shape& shape) { return ours(kernels, Arithmetic::fp32, shape); });
    line(kernels.name, "int16", [&](const Shape& shape) { return ours(kernels, Arithmetic::int16, shape); });
    if (kernels.native_bf16)
      line(kernels.name, "bf16", [&](const Shape& shape) { return ours(kernels, Arithmetic::bf16, shape); });
    if (kernels.native_int8)
      line(kernels.name, "int8", [&](const Shape& shape) { return ours(kernels, Arithmetic::int8, shape); });
  }
  line("oneDNN", "fp32", [](const Shape& shape) { return onednn(dnnl::memory::data_type::f32, shape); });
  line("oneDNN", "bf16", [](const Shape& shape) { return onednn(dnnl::memory::data_type::bf16, shape); });
  line("oneDNN", "int8", [](const Shape& shape) { return onednn(dnnl::memory::data_type::s8, shape); });
}
