// Every instruction that the emulator offers, against a plain computation from the PTX manual's tables.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/kernels/emulator/support.h"

namespace relucent::emulator_test {
namespace {

using Instructions = EmulatorTest;

// ---- threads, blocks, barriers ----

__global__ void write_places(uint4* places) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  places[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      make_uint4(threadIdx.x | threadIdx.y << 16, threadIdx.z, blockIdx.x | blockIdx.y << 16, blockIdx.z);
}

TEST_F(Instructions, EveryThreadOfEveryBlockRunsOnceAndKnowsItsPlace) {
  const dim3 grid(3, 2, 5);
  const dim3 block(7, 3, 2);
  const unsigned threads = 42;
  const OnDevice<uint4> places(std::size_t{threads} * 30);
  ASSERT_EQ(run(write_places, grid, block, 0, places.get()), cudaSuccess);
  const std::vector<uint4> found = places.values();
  for (unsigned i = 0; i < found.size(); ++i) {
    const unsigned t = i % threads;
    const unsigned b = i / threads;
    EXPECT_EQ(found[i].x, t % 7 | t / 7 % 3 << 16);
    EXPECT_EQ(found[i].y, t / 21);
    EXPECT_EQ(found[i].z, b % 3 | b / 3 % 2 << 16);
    EXPECT_EQ(found[i].w, b / 6);
  }
}

__global__ void reverse_block(const int* from, int* to) {
  int* const shared = reinterpret_cast<int*>(cuda::shared_memory());
  const unsigned first = blockIdx.x * blockDim.x;
  shared[threadIdx.x] = from[first + threadIdx.x];
  __syncthreads();
  to[first + threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

TEST_F(Instructions, ABarrierOrdersSharedMemoryWhateverTheSeed) {
  std::vector<int> values(5 * 200);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int>(i);
  }
  const OnDevice<int> from(values);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    emulator::set_seed(seed);
    const OnDevice<int> to(values.size());
    ASSERT_EQ(run(reverse_block, 5, 200, 200 * sizeof(int), from.get(), to.get()), cudaSuccess);
    const std::vector<int> found = to.values();
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], values[i / 200 * 200 + 199 - i % 200]);
    }
  }
}

// ---- warps ----

struct Lanes {
  unsigned index[32], exclusive_or[32], up[32], down[32], ballot[32], any[32], all[32], half[32];
};

__global__ void exchange(Lanes* to) {
  const unsigned lane = threadIdx.x;
  const unsigned value = lane * lane + 7;
  to->index[lane] = __shfl_sync(0xffffffffU, value, static_cast<int>((lane * 5 + 3) % 32));
  to->exclusive_or[lane] = __shfl_xor_sync(0xffffffffU, value, 5);
  to->up[lane] = __shfl_up_sync(0xffffffffU, value, 3);
  to->down[lane] = __shfl_down_sync(0xffffffffU, value, 9, 16);
  to->ballot[lane] = __ballot_sync(0xffffffffU, lane % 3 == 0);
  to->any[lane] = static_cast<unsigned>(__any_sync(0xffffffffU, lane == 17));
  to->all[lane] = static_cast<unsigned>(__all_sync(0xffffffffU, lane != 17));
  if (lane < 8) {
    to->half[lane] = __shfl_xor_sync(0x000000ffU, value, 7);
  } else {
    to->half[lane] = __ballot_sync(0xffffff00U, lane % 2);
  }
}

TEST_F(Instructions, ShufflesAndVotesGiveWhatTheManualStates) {
  const OnDevice<Lanes> to(1);
  ASSERT_EQ(run(exchange, 1, 32, 0, to.get()), cudaSuccess);
  const Lanes found = to.values().front();
  const auto value = [](unsigned lane) { return lane * lane + 7; };
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(found.index[lane], value((lane * 5 + 3) % 32));
    EXPECT_EQ(found.exclusive_or[lane], value(lane ^ 5));
    EXPECT_EQ(found.up[lane], value(lane < 3 ? lane : lane - 3));
    EXPECT_EQ(found.down[lane], value(lane % 16 + 9 < 16 ? lane + 9 : lane));
    EXPECT_EQ(found.ballot[lane], 0x49249249U);
    EXPECT_EQ(found.any[lane], 1U);
    EXPECT_EQ(found.all[lane], 0U);
    EXPECT_EQ(found.half[lane], lane < 8 ? value(lane ^ 7) : 0xaaaaaa00U);
  }
}

// ---- matrices ----

struct Loads {
  std::uint32_t x4[32][4], x4_trans[32][4], x2[32][2], x2_trans[32][2];
};

__global__ void load_all(const std::uint16_t* from, Loads* to) {
  auto* const shared = reinterpret_cast<std::uint16_t*>(cuda::shared_memory());
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 32 * 8; i += 32) {
    shared[i] = from[i];
  }
  __syncthreads();
  std::uint32_t four[4];
  std::uint32_t two[2];
  cuda::ldmatrix_x4(four, shared + lane * 8);
  for (int i = 0; i < 4; ++i) {
    to->x4[lane][i] = four[i];
  }
  cuda::ldmatrix_x4_trans(four, shared + lane * 8);
  for (int i = 0; i < 4; ++i) {
    to->x4_trans[lane][i] = four[i];
  }
  cuda::ldmatrix_x2(two, shared + lane % 16 * 8);
  for (int i = 0; i < 2; ++i) {
    to->x2[lane][i] = two[i];
  }
  cuda::ldmatrix_x2_trans(two, shared + lane % 16 * 8);
  for (int i = 0; i < 2; ++i) {
    to->x2_trans[lane][i] = two[i];
  }
}

TEST_F(Instructions, LdmatrixHandsOutRowsOrColumns) {
  std::vector<std::uint16_t> values(32 * 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint16_t>(i * 257 + 11);
  }
  const OnDevice<std::uint16_t> from(values);
  const OnDevice<Loads> to(1);
  ASSERT_EQ(run(load_all, 1, 32, 32 * 8 * 2, from.get(), to.get()), cudaSuccess);
  const Loads found = to.values().front();
  // The manual's figure: lane 0 holds elements 0, 1 of row 0, lane 1 elements 2, 3, lane 4 elements 0, 1 of row 1.
  const auto element = [&](unsigned matrix, unsigned row, unsigned column) {
    return std::uint32_t{values[(matrix * 8 + row) * 8 + column]};
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      const unsigned far = lane >> 2;
      const unsigned near = (lane & 3) << 1;
      const std::uint32_t plain = element(matrix, far, near) | element(matrix, far, near + 1) << 16;
      const std::uint32_t transposed = element(matrix, near, far) | element(matrix, near + 1, far) << 16;
      EXPECT_EQ(found.x4[lane][matrix], plain);
      EXPECT_EQ(found.x4_trans[lane][matrix], transposed);
      if (matrix < 2) {
        EXPECT_EQ(found.x2[lane][matrix], plain);
        EXPECT_EQ(found.x2_trans[lane][matrix], transposed);
      }
    }
  }
}

__global__ void transpose(const std::uint32_t* from, std::uint32_t* to) {
  to[threadIdx.x] = cuda::transposed(from[threadIdx.x]);
}

TEST_F(Instructions, MovmatrixExchangesRowsAndColumns) {
  const auto element = [](unsigned row, unsigned column) { return std::uint32_t{row * 100 + column + 7}; };
  std::vector<std::uint32_t> words(32);
  for (unsigned lane = 0; lane < 32; ++lane) {
    words[lane] = element(lane >> 2, (lane & 3) << 1) | element(lane >> 2, (lane & 3) << 1 | 1) << 16;
  }
  const OnDevice<std::uint32_t> from(words);
  const OnDevice<std::uint32_t> to(32);
  ASSERT_EQ(run(transpose, 1, 32, 0, from.get(), to.get()), cudaSuccess);
  const std::vector<std::uint32_t> found = to.values();
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(found[lane], element((lane & 3) << 1, lane >> 2) | element((lane & 3) << 1 | 1, lane >> 2) << 16);
  }
}

TEST_F(Instructions, ApproximatePowersAreZeroWhereTheyWouldBeDenormal) {
  EXPECT_EQ(cuda::exp2_of(3.0F), 8.0F);
  EXPECT_EQ(cuda::exp2_of(-126.0F), std::ldexp(1.0F, -126));
  EXPECT_EQ(cuda::exp2_of(-127.0F), 0.0F);
  EXPECT_EQ(cuda::exp2_of(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_EQ(cuda::reciprocal_of(4.0F), 0.25F);
}

template <typename T>
T narrowed(float value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(value);
  } else {
    return __float2bfloat16_rn(value);
  }
}

template <typename T>
float widened(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else {
    return __bfloat162float(value);
  }
}

// Element i of a lane's fragments, as the PTX manual tabulates them for mma.m16n8k16.
struct Cell {
  unsigned row, column;
};
Cell cell_of_a(unsigned lane, unsigned i) {
  return {lane / 4 + (i < 2 || (i >= 4 && i < 6) ? 0 : 8), lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
Cell cell_of_b(unsigned lane, unsigned i) { return {lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4}; }
Cell cell_of_c(unsigned lane, unsigned i) { return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }

struct Fragments {
  std::uint32_t a[4], b[2];
  float d[4];
};

template <typename T>
__global__ void multiply_fragments(Fragments* all) {
  Fragments mine = all[threadIdx.x];
  cuda::mma_m16n8k16<T>(mine.d, mine.a, mine.b);
  all[threadIdx.x] = mine;
}

template <typename T>
class Mma : public EmulatorTest {};
using Elements = ::testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(Mma, Elements);

TYPED_TEST(Mma, MultipliesTheFragmentsOfTheManual) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-2, 2);
  TypeParam a[16][16], b[16][8];
  float c[16][8];
  for (auto& row : a)
    std::generate(std::begin(row), std::end(row), [&] { return narrowed<TypeParam>(uniform(random)); });
  for (auto& row : b)
    std::generate(std::begin(row), std::end(row), [&] { return narrowed<TypeParam>(uniform(random)); });
  for (auto& row : c) std::generate(std::begin(row), std::end(row), [&] { return uniform(random); });
  std::vector<Fragments> fragments(32);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 8; ++i) {
      const Cell cell = cell_of_a(lane, i);
      std::memcpy(reinterpret_cast<char*>(fragments[lane].a) + 2 * i, &a[cell.row][cell.column], 2);
    }
    for (unsigned i = 0; i < 4; ++i) {
      const Cell in_b = cell_of_b(lane, i);
      std::memcpy(reinterpret_cast<char*>(fragments[lane].b) + 2 * i, &b[in_b.row][in_b.column], 2);
      const Cell in_c = cell_of_c(lane, i);
      fragments[lane].d[i] = c[in_c.row][in_c.column];
    }
  }
  const OnDevice<Fragments> all(fragments);
  ASSERT_EQ(run(multiply_fragments<TypeParam>, 1, 32, 0, all.get()), cudaSuccess);
  const std::vector<Fragments> found = all.values();
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const Cell cell = cell_of_c(lane, i);
      double sum = c[cell.row][cell.column];
      for (unsigned k = 0; k < 16; ++k) {
        sum += double{widened(a[cell.row][k])} * double{widened(b[k][cell.column])};
      }
      EXPECT_NEAR(found[lane].d[i], sum, 2e-5) << "row " << cell.row << ", column " << cell.column;
    }
  }
}

// The usual way: A [16][16] by x4, B stored [k][n] by x2.trans, and the same B stored [n][k] by x2.
__global__ void multiply_through_shared(const __half* a, const __half* b, const __half* b_transposed, float* d) {
  auto* const shared = reinterpret_cast<__half*>(cuda::shared_memory());
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32) {
    shared[i] = a[i];
  }
  for (unsigned i = lane; i < 128; i += 32) {
    shared[256 + i] = b[i];
    shared[384 + i] = b_transposed[i];
  }
  __syncthreads();
  std::uint32_t left[4], right[2], right_again[2];
  cuda::ldmatrix_x4(left, shared + lane % 16 * 16 + lane / 16 * 8);
  cuda::ldmatrix_x2_trans(right, shared + 256 + lane % 16 * 8);
  cuda::ldmatrix_x2(right_again, shared + 384 + lane % 8 * 16 + lane / 8 % 2 * 8);
  float sums[4] = {};
  cuda::mma_m16n8k16<__half>(sums, left, right);
  cuda::mma_m16n8k16<__half>(sums, left, right_again);
  for (unsigned i = 0; i < 4; ++i) {
    d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
  }
}

TEST_F(Instructions, LdmatrixAndMmaMakeAProduct) {
  std::vector<__half> a(256), b(128), b_transposed(128);
  for (unsigned i = 0; i < 256; ++i) {
    a[i] = __float2half_rn(static_cast<float>(i % 23) - 11);
  }
  for (unsigned k = 0; k < 16; ++k) {
    for (unsigned n = 0; n < 8; ++n) {
      b[k * 8 + n] = b_transposed[n * 16 + k] = __float2half_rn(static_cast<float>((k * 8 + n) % 17) - 8);
    }
  }
  const OnDevice<__half> left(a), right(b), right_transposed(b_transposed);
  const OnDevice<float> d(128);
  ASSERT_EQ(run(multiply_through_shared, 1, 32, 1024, left.get(), right.get(), right_transposed.get(), d.get()),
            cudaSuccess);
  const std::vector<float> found = d.values();
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned column = 0; column < 8; ++column) {
      float sum = 0;
      for (unsigned k = 0; k < 16; ++k) {
        sum += 2 * __half2float(a[row * 16 + k]) * __half2float(b[k * 8 + column]);
      }
      EXPECT_EQ(found[row * 8 + column], sum);
    }
  }
}

// ---- asynchronous copies ----

// Three groups of one copy each, the last of them not valid; element i of `to` is group i's.
__global__ void copy_groups(const uint4* from, uint4* to) {
  auto* const shared = reinterpret_cast<uint4*>(cuda::shared_memory());
  for (int i = 0; i < 3; ++i) {
    cuda::cp_async_16(shared + i, from + i, i < 2);
    cuda::cp_async_commit();
  }
  cuda::cp_async_wait<2>();
  to[0] = shared[0];
  cuda::cp_async_wait<0>();
  to[1] = shared[1];
  to[2] = shared[2];
}

TEST_F(Instructions, AsynchronousCopiesArriveByGroupsAndInvalidOnesAreZeros) {
  const OnDevice<uint4> from(std::vector<uint4>{{1, 2, 3, 4}, {5, 6, 7, 8}});
  const OnDevice<uint4> to(3);
  ASSERT_EQ(run(copy_groups, 1, 1, 48, from.get(), to.get()), cudaSuccess);
  const std::vector<uint4> found = to.values();
  EXPECT_EQ(found[0].x + found[0].w, 5U);
  EXPECT_EQ(found[1].x + found[1].w, 13U);
  EXPECT_EQ(found[2].x | found[2].y | found[2].z | found[2].w, 0U);
}

// ---- numbers ----

TEST(Numbers, HalvesConvertLikeTheCompilersOwn) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const __half half{static_cast<std::uint16_t>(bits)};
    const float value = static_cast<float>(__builtin_bit_cast(_Float16, half.bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(__half2float(half)));
      EXPECT_EQ(__float2half_rn(value).bits, 0x7fff);
    } else {
      ASSERT_EQ(__builtin_bit_cast(std::uint32_t, __half2float(half)), __builtin_bit_cast(std::uint32_t, value))
          << bits;
      ASSERT_EQ(__float2half_rn(value).bits, bits);
    }
  }
  // Every float's neighbourhood: all exponents, and mantissas at and next to the ties.
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x3000U, 0x7fffU, 0xf000U, 0xffffU}) {
      const float value = __builtin_bit_cast(float, high << 16 | low);
      if (!std::isnan(value)) {
        const auto expected = __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value));
        ASSERT_EQ(__float2half_rn(value).bits, expected) << value;
      }
    }
  }
}

TEST(Numbers, Bfloat16RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const float value = __builtin_bit_cast(float, high << 16 | low);
      const std::uint16_t found = __float2bfloat16_rn(value).bits;
      if (std::isnan(value)) {
        EXPECT_EQ(found, 0x7fff);
        continue;
      }
      const bool up = low > 0x8000U || (low == 0x8000U && high % 2 == 1);
      ASSERT_EQ(found, std::isinf(value) ? high : high + (up ? 1 : 0));
      if (low == 0) {
        ASSERT_EQ(__bfloat162float({found}), value);
      }
    }
  }
}

}  // namespace
}  // namespace relucent::emulator_test
