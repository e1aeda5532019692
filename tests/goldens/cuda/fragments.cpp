// Prints who holds which element of the operands of mma.m16n8k16 and ldmatrix, as the traits of CuTe state it: a line
// per instruction, operand and lane, "row,column" of each of the lane's elements in the order of its registers, low
// half first. README.md has the command. It runs on the host and needs no GPU.
#include <cstdio>
#include <cute/atom/copy_traits_sm75.hpp>
#include <cute/atom/mma_traits_sm80.hpp>

namespace {

/// A layout of (lane, element) to column-major places of a matrix with `rows` rows.
template <typename Layout>
void print_matrix(const char* name, Layout layout, int rows, int elements) {
  for (int lane = 0; lane < 32; ++lane) {
    std::printf("%s %d:", name, lane);
    for (int i = 0; i < elements; ++i) {
      const int place = int(layout(lane, i));
      std::printf(" %d,%d", place % rows, place / rows);
    }
    std::printf("\n");
  }
}

template <typename Traits>
void print_mma(const char* name) {
  char text[64];
  std::snprintf(text, sizeof text, "%s a", name);
  print_matrix(text, typename Traits::ALayout{}, 16, 8);
  std::snprintf(text, sizeof text, "%s b", name);
  print_matrix(text, typename Traits::BLayout{}, 8, 4);  // its rows are n, its columns k
  std::snprintf(text, sizeof text, "%s c", name);
  print_matrix(text, typename Traits::CLayout{}, 16, 4);
}

/// Row: the lane that gave the row's address; column: the element of 16 bits in that row.
template <typename Traits>
void print_load(const char* name, int elements) {
  for (int lane = 0; lane < 32; ++lane) {
    std::printf("%s d %d:", name, lane);
    for (int i = 0; i < elements; ++i) {
      const int bit = int(typename Traits::DstLayout{}(lane, 16 * i));
      int giver = 0;
      while (int(typename Traits::SrcLayout{}(giver, 0)) != bit / 128 * 128) ++giver;
      std::printf(" %d,%d", giver, bit % 128 / 16);
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  using namespace cute;
  print_mma<MMA_Traits<SM80_16x8x16_F32F16F16F32_TN>>("mma.f16");
  print_mma<MMA_Traits<SM80_16x8x16_F32BF16BF16F32_TN>>("mma.bf16");
  print_load<Copy_Traits<SM75_U32x2_LDSM_N>>("ldmatrix.x2", 4);
  print_load<Copy_Traits<SM75_U32x4_LDSM_N>>("ldmatrix.x4", 8);
  print_load<Copy_Traits<SM75_U16x4_LDSM_T>>("ldmatrix.x2.trans", 4);
  print_load<Copy_Traits<SM75_U16x8_LDSM_T>>("ldmatrix.x4.trans", 8);
}
