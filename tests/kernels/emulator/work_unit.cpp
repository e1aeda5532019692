// Counting of what launches and products do.
#include "cublasLt.h"
#include "tests/kernels/emulator/support.h"

namespace relucent::emulator_test {
namespace {

class CountedWork : public EmulatorTest {
 protected:
  void TearDown() override {
    emulator::count_work(false);
    EmulatorTest::TearDown();
  }
};

// Every thread reads the first number; thread i of the grid reads number i, and writes it twice.
__global__ void read_and_write(const float* from, float* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[0];
  to[i] += from[i];
}

__global__ void multiply_once(float* to) {
  const std::uint32_t a[4] = {}, b[2] = {};
  float d[4] = {};
  cuda::mma_m16n8k16<__half>(d, a, b);
  to[threadIdx.x] = d[0];
}

TEST_F(CountedWork, OfAKernelIsItsBytesAndItsMultiplications) {
  const OnDevice<float> from(std::vector<float>(64, 1.0F)), to(64);
  ASSERT_EQ(run(read_and_write, 2, 32, 0, from.get(), to.get()), cudaSuccess);
  EXPECT_TRUE(emulator::work().empty()) << "not counted unless wanted";
  emulator::count_work(true);
  ASSERT_EQ(run(read_and_write, 2, 32, 0, from.get(), to.get()), cudaSuccess);
  ASSERT_EQ(run(read_and_write, 2, 32, 0, from.get(), to.get()), cudaSuccess);
  ASSERT_EQ(run(multiply_once, 1, 32, 0, to.get()), cudaSuccess);
  const auto work = emulator::work();
  ASSERT_EQ(work.size(), 2U);
  const emulator::Work& both = work.at("relucent::emulator_test::read_and_write 2 blocks");
  EXPECT_EQ(both.launches, 2U);
  EXPECT_EQ(both.read, 2U * 64 * 4 * 2) << "the first number and the own one, since a register keeps the sum";
  EXPECT_EQ(both.written, 2U * 64 * 4 * 2);
  EXPECT_EQ(both.read_once, 2U * 64 * 4) << "not what the launch had written";
  EXPECT_EQ(both.written_once, 2U * 64 * 4);
  EXPECT_EQ(both.flops, 0U);
  const emulator::Work& product = work.at("relucent::emulator_test::multiply_once 1 blocks");
  EXPECT_EQ(product.flops, 2U * 16 * 8 * 16);
  EXPECT_EQ(product.written, 32U * 4);
}

TEST_F(CountedWork, OfAProductFollowsFromItsShape) {
  constexpr int in = 32, out = 48, rows = 5;
  const OnDevice<float> weight(std::vector<float>(in * out, 0.5F)), x(std::vector<float>(in * rows, 2.0F)),
      y(std::vector<float>(out * rows));
  cublasLtHandle_t handle = nullptr;
  ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDescOpaque_t description;
  ASSERT_EQ(cublasLtMatmulDescInit(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(&description, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
            CUBLAS_STATUS_SUCCESS);
  cublasLtMatrixLayoutOpaque_t of_weight, of_x, of_y;
  ASSERT_EQ(cublasLtMatrixLayoutInit(&of_weight, CUDA_R_32F, in, out, in), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasLtMatrixLayoutInit(&of_x, CUDA_R_32F, in, rows, in), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasLtMatrixLayoutInit(&of_y, CUDA_R_32F, out, rows, out), CUBLAS_STATUS_SUCCESS);
  emulator::count_work(true);
  const float one = 1, zero = 0;
  ASSERT_EQ(cublasLtMatmul(handle, &description, &one, weight.get(), &of_weight, x.get(), &of_x, &zero, y.get(), &of_y,
                           y.get(), &of_y, nullptr, nullptr, 0, nullptr),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_SUCCESS);
  const auto work = emulator::work();
  ASSERT_EQ(work.size(), 1U);
  const auto& [name, product] = *work.begin();
  EXPECT_EQ(name, "product 32 -> 48, 5 rows");
  EXPECT_EQ(product.read, (in * out + in * rows) * sizeof(float));
  EXPECT_EQ(product.written, out * rows * sizeof(float));
  EXPECT_EQ(product.flops, std::uint64_t{2} * in * out * rows);
}

}  // namespace
}  // namespace relucent::emulator_test
