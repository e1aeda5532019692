// The kernels of vector_kernels.h for RELUCENT_LANES floats at a time, compiled once per instruction set with its own
// compiler flags:
//   RELUCENT_LEVEL      its name
//   RELUCENT_LANES      floats per vector
//   RELUCENT_REGISTERS  vector registers, 16 or 32
// and, unless they are 0:
//   RELUCENT_BF16, RELUCENT_INT8  1 if it has instructions for products of bf16 pairs, 8-bit quads; INT8 2 to emulate
//                       x86's in plain C++
//   RELUCENT_MATRIX     1 if those multiply two tokens by two features each (Arm's matrix multiply-accumulate)
//   RELUCENT_AMX        1 if it has AMX tiles, 2 to emulate them in plain C++
// Written in GCC's vector types, so that all levels share one source. Uses no templates of the standard library: the
// linker keeps one copy of an inline function, which must not be one compiled here for a newer processor.
#ifndef RELUCENT_BF16
#define RELUCENT_BF16 0
#endif
#ifndef RELUCENT_INT8
#define RELUCENT_INT8 0
#endif
#ifndef RELUCENT_MATRIX
#define RELUCENT_MATRIX 0
#endif
#ifndef RELUCENT_AMX
#define RELUCENT_AMX 0
#endif
#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#include <unistd.h>

#include "kernels/cpu/vector_kernels.h"

namespace relucent::cpu::RELUCENT_LEVEL {
namespace {

// Each of these depends on the ones before it.
// clang-format off
#include "kernels/cpu/vectors.inl"
#include "kernels/cpu/activation.inl"
#include "kernels/cpu/attention.inl"
#include "kernels/cpu/norm.inl"
#include "kernels/cpu/late_interaction.inl"
#include "kernels/cpu/dot.inl"
#include "kernels/cpu/product.inl"
#if RELUCENT_AMX
#include "kernels/cpu/tiles.inl"
#include "kernels/cpu/tile_product.inl"
#include "kernels/cpu/tile_attention.inl"
#endif
#include "kernels/cpu/peak.inl"
// clang-format on

void product(const Product& product) {
  switch (product.arithmetic) {
    case Arithmetic::fp32:
    case Arithmetic::bf16_emulated: product_panels<DotF32>(product); break;
    case Arithmetic::int16: product_panels<DotInt16>(product); break;
#if RELUCENT_AMX
    case Arithmetic::bf16: tile_product<Bf16Tiles>(product); break;
    case Arithmetic::int8: tile_product<Int8Tiles>(product); break;
#else
    case Arithmetic::bf16: product_panels<DotBf16>(product); break;
    case Arithmetic::int8: product_panels<DotInt8>(product); break;
#endif
  }
}

void attend(const Attention& attention) {
#if RELUCENT_AMX
  if (fits_tiles(attention)) {
    attend_by_tiles(attention);
    return;
  }
#endif
  attend_by_vectors(attention);
}

#define RELUCENT_TEXT_OF(name) #name
#define RELUCENT_TEXT(name) RELUCENT_TEXT_OF(name)

}  // namespace

const VectorKernels kKernels = {
    .name = RELUCENT_TEXT(RELUCENT_LEVEL),
    .lanes = kLanes,
    .panel = kPanel,
    .panels_together = RELUCENT_AMX != 0 ? 22 : kPanelsTogether,
    .bf16_inputs = RELUCENT_AMX != 0 ? 256 : 0,
    .group_tokens = RELUCENT_AMX != 0 ? 704 : 384,
    .native_bf16 = RELUCENT_BF16 != 0 || RELUCENT_AMX == 2,
    .native_int8 = RELUCENT_INT8 != 0 || RELUCENT_AMX == 2,
    // With AVX-512 alone, a multiplication and an addition take the time of two of fp32's multiply-adds.
    .fast_int16 = RELUCENT_LANES == 16 ? RELUCENT_INT8 != 0 : RELUCENT_PAIRS != 0,
    .automatic = RELUCENT_AMX != 2 && RELUCENT_INT8 != 2,
    .layout = RELUCENT_AMX != 0      ? WeightLayout::tiles
              : RELUCENT_MATRIX != 0 ? WeightLayout::step_pairs
                                     : WeightLayout::by_step,
    .embed = embed,
    .product = product,
    .activate = activate,
    .norm = norm,
    .pack = pack,
    .pack_rows = pack_rows,
    .rotate = rotate,
    .attend = attend,
    .attend_one = attend_one,
    .token_products = token_products,
    .token_sums = token_sums,
    .spin = spin,
    .softmax = softmax,
    .best_products = best_products,
    .widen = widen,
};

}  // namespace relucent::cpu::RELUCENT_LEVEL
