// Who holds which element of the tensor instructions' operands: the emulator against CuTe (tests/goldens/cuda).
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "tests/kernels/emulator/support.h"

namespace relucent::emulator_test {
namespace {

struct Element {
  int row, column;
};
/// [lane][element], in the order of the lane's registers, low half first.
using Fragment = std::vector<std::vector<Element>>;

/// By instruction and operand: "mma.f16 a", "ldmatrix.x4 d".
const std::map<std::string, Fragment>& golden_fragments() {
  static const std::map<std::string, Fragment> fragments = [] {
    std::map<std::string, Fragment> read;
    std::ifstream file(RELUCENT_GOLDEN_FRAGMENTS);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string instruction, operand, lane, place;
      words >> instruction >> operand >> lane;
      std::vector<Element>& elements = read[instruction + ' ' + operand].emplace_back();
      while (words >> place) {
        elements.push_back({std::stoi(place), std::stoi(place.substr(place.find(',') + 1))});
      }
    }
    return read;
  }();
  return fragments;
}

const Fragment& golden_fragment(const std::string& name) {
  static const Fragment none(32);
  const auto found = golden_fragments().find(name);
  EXPECT_NE(found, golden_fragments().end()) << name << " is not in " << RELUCENT_GOLDEN_FRAGMENTS;
  return found == golden_fragments().end() ? none : found->second;
}

using Fragments = EmulatorTest;

TEST_F(Fragments, OfEveryInstructionAreThere) {
  std::size_t places = 0;
  for (const auto& [name, lanes] : golden_fragments()) {
    EXPECT_EQ(lanes.size(), 32U) << name;
    for (const auto& lane : lanes) {
      places += lane.size();
    }
  }
  EXPECT_EQ(golden_fragments().size(), 10U);
  EXPECT_EQ(places, 1792U);
}

// ---- ldmatrix ----

struct LoadedHalves {
  std::uint16_t halves[32][8];
};

template <int Matrices, bool Transposed>
__global__ void load_rows(const std::uint16_t* from, LoadedHalves* to) {
  auto* const shared = reinterpret_cast<std::uint16_t*>(cuda::shared_memory());
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 32 * 8; i += 32) {
    shared[i] = from[i];
  }
  __syncthreads();
  std::uint32_t words[Matrices];
  if constexpr (Matrices == 4) {
    if constexpr (Transposed) {
      cuda::ldmatrix_x4_trans(words, shared + lane * 8);
    } else {
      cuda::ldmatrix_x4(words, shared + lane * 8);
    }
  } else if constexpr (Transposed) {
    cuda::ldmatrix_x2_trans(words, shared + lane % 16 * 8);
  } else {
    cuda::ldmatrix_x2(words, shared + lane % 16 * 8);
  }
  for (int i = 0; i < Matrices; ++i) {
    to->halves[lane][2 * i] = static_cast<std::uint16_t>(words[i]);
    to->halves[lane][2 * i + 1] = static_cast<std::uint16_t>(words[i] >> 16);
  }
}

template <int Matrices, bool Transposed>
void expect_loads(const std::string& name) {
  std::vector<std::uint16_t> rows(32 * 8);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<std::uint16_t>(i);
  }
  const OnDevice<std::uint16_t> from(rows);
  const OnDevice<LoadedHalves> to(std::vector<LoadedHalves>(1));
  ASSERT_EQ(run(load_rows<Matrices, Transposed>, 1, 32, 32 * 8 * 2, from.get(), to.get()), cudaSuccess);
  const LoadedHalves found = to.values().front();
  const Fragment& golden = golden_fragment(name);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    ASSERT_EQ(golden[lane].size(), std::size_t{2} * Matrices);
    for (std::size_t i = 0; i < golden[lane].size(); ++i) {
      EXPECT_EQ(found.halves[lane][i], golden[lane][i].row * 8 + golden[lane][i].column) << name << ", lane " << lane;
    }
  }
}

TEST_F(Fragments, OfLdmatrix) {
  expect_loads<2, false>("ldmatrix.x2 d");
  expect_loads<4, false>("ldmatrix.x4 d");
  expect_loads<2, true>("ldmatrix.x2.trans d");
  expect_loads<4, true>("ldmatrix.x4.trans d");
}

// ---- mma.m16n8k16 ----

template <typename T>
__global__ void multiply_fragments(const std::uint32_t* a, const std::uint32_t* b, float* d) {
  const unsigned lane = threadIdx.x;
  std::uint32_t left[4], right[2];
  for (unsigned i = 0; i < 4; ++i) {
    left[i] = a[4 * lane + i];
  }
  for (unsigned i = 0; i < 2; ++i) {
    right[i] = b[2 * lane + i];
  }
  float sums[4] = {};
  cuda::mma_m16n8k16<T>(sums, left, right);
  for (unsigned i = 0; i < 4; ++i) {
    d[4 * lane + i] = sums[i];
  }
}

std::uint16_t bits_of(float value, __half) {
  const __half half = __float2half_rn(value);
  return __builtin_bit_cast(std::uint16_t, half);
}
std::uint16_t bits_of(float value, __nv_bfloat16) {
  const __nv_bfloat16 half = __float2bfloat16_rn(value);
  return __builtin_bit_cast(std::uint16_t, half);
}

/// The matrix in the registers of the fragment's lanes.
template <typename T>
std::vector<std::uint32_t> in_registers(const Fragment& fragment, const std::vector<float>& matrix, int columns) {
  std::vector<std::uint32_t> words;
  for (const auto& elements : fragment) {
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
      const auto bits = [&](const Element& at) {
        return std::uint32_t{bits_of(matrix[static_cast<std::size_t>(at.row * columns + at.column)], T())};
      };
      words.push_back(bits(elements[i]) | bits(elements[i + 1]) << 16);
    }
  }
  return words;
}

template <typename T>
void expect_product(const std::string& name) {
  const Fragment &left = golden_fragment(name + " a"), &right = golden_fragment(name + " b"),
                 &sums = golden_fragment(name + " c");
  std::mt19937 random(1);
  std::vector<float> a(16 * 16), b(8 * 16);  // b: [n, k]
  for (float& value : a) {
    value = static_cast<float>(random() % 33) - 16;
  }
  for (float& value : b) {
    value = static_cast<float>(random() % 33) - 16;
  }
  const OnDevice<std::uint32_t> a_words(in_registers<T>(left, a, 16)), b_words(in_registers<T>(right, b, 16));
  const OnDevice<float> d(128);
  ASSERT_EQ(run(multiply_fragments<T>, 1, 32, 0, a_words.get(), b_words.get(), d.get()), cudaSuccess);
  const std::vector<float> found = d.values();
  for (std::size_t lane = 0; lane < 32; ++lane) {
    ASSERT_EQ(sums[lane].size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      float sum = 0;
      for (std::size_t k = 0; k < 16; ++k) {
        sum += a[static_cast<std::size_t>(sums[lane][i].row) * 16 + k] *
               b[static_cast<std::size_t>(sums[lane][i].column) * 16 + k];
      }
      EXPECT_EQ(found[4 * lane + i], sum) << name << ", lane " << lane;
    }
  }
}

TEST_F(Fragments, OfMma) {
  expect_product<__half>("mma.f16");
  expect_product<__nv_bfloat16>("mma.bf16");
}

}  // namespace
}  // namespace relucent::emulator_test
