// What a product does with a step's inputs: a dot product takes a step's weight of one feature and its units of a
// vector of tokens, or (kTwoByTwo) two steps of two features and of two tokens. Included by vector_kernels.inl.

// A step's weight of one feature. Arm's instructions take it from one of a vector's lanes.
#if RELUCENT_LANES == 4 && defined(__ARM_NEON)
struct Weight {
  Ints four;
  std::size_t lane;
  RELUCENT_INLINE operator std::int32_t() const { return four[lane]; }
};
RELUCENT_INLINE Weight weight_at(const std::int32_t* weights, std::size_t f) {
  return {load_units(weights + f / kLanes * kLanes), f % kLanes};
}
RELUCENT_INLINE Floats broadcast(Weight weight) { return all(((Floats)weight.four)[weight.lane]); }
#else
using Weight = std::int32_t;
RELUCENT_INLINE Weight weight_at(const std::int32_t* weights, std::size_t f) { return weights[f]; }
RELUCENT_INLINE Floats broadcast(Weight weight) { return all(__builtin_bit_cast(float, weight)); }
#endif

// Whether a sum has room for some steps only.
template <typename Dot>
concept AddsInParts = requires {
  Dot::kMostSteps;
};

struct DotF32 {
  using Sum = Floats;
  static constexpr bool kTwoByTwo = false;
  static constexpr std::size_t kSteps = 1;  // that add() takes
  RELUCENT_INLINE static Arithmetic arithmetic(const Product& product) {
    return product.arithmetic;
  }  // or bf16_emulated
  RELUCENT_INLINE static Sum start(const Product&, std::size_t) { return Floats{}; }
  RELUCENT_INLINE static Ints operand(Ints units) { return units; }
  RELUCENT_INLINE static Sum add(Sum sum, Weight weight, Ints units) {
    return multiply_add(broadcast(weight), (Floats)units, sum);
  }
  RELUCENT_INLINE static Floats value(const Product&, Sum sum, std::size_t, std::size_t) { return sum; }
};

// What multiplies pairs of 16-bit numbers and adds the two products, in each lane.
#if RELUCENT_LANES == 16 && defined(__AVX512BW__)
#define RELUCENT_PAIRS 1
RELUCENT_INLINE Ints multiply_pairs(Shorts x, Shorts y) { return (Ints)_mm512_madd_epi16((__m512i)x, (__m512i)y); }
#elif RELUCENT_LANES == 8 && defined(__AVX2__)
#define RELUCENT_PAIRS 1
RELUCENT_INLINE Ints multiply_pairs(Shorts x, Shorts y) { return (Ints)_mm256_madd_epi16((__m256i)x, (__m256i)y); }
#else
#define RELUCENT_PAIRS 0
#endif

// What adds the products of four unsigned bytes with four signed ones, or of two 16-bit numbers, in each lane.
#if RELUCENT_INT8 == 1 && RELUCENT_LANES == 16
#define RELUCENT_VNNI 1
RELUCENT_INLINE Ints add_quads(Ints sum, Ints bytes, Ints weights) {
  return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)bytes, (__m512i)weights);
}
RELUCENT_INLINE Ints add_pairs(Ints sum, Ints x, Ints y) {
  return (Ints)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)x, (__m512i)y);
}
#elif RELUCENT_INT8 == 1 && RELUCENT_LANES == 8
#define RELUCENT_VNNI 1
RELUCENT_INLINE Ints add_quads(Ints sum, Ints bytes, Ints weights) {
  return (Ints)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)bytes, (__m256i)weights);
}
RELUCENT_INLINE Ints add_pairs(Ints sum, Ints x, Ints y) {
  return (Ints)_mm256_dpwssd_avx_epi32((__m256i)sum, (__m256i)x, (__m256i)y);
}
#elif RELUCENT_INT8 == 2
#define RELUCENT_VNNI 1
RELUCENT_INLINE Ints add_quads(Ints sum, Ints bytes, Ints weights) {
  for (int i = 0; i < 4; ++i)
    sum += (Ints)((Words)bytes >> (8 * i) & 255U) * ((Ints)((Words)weights << (24 - 8 * i)) >> 24);
  return sum;
}
RELUCENT_INLINE Ints add_pairs(Ints sum, Ints x, Ints y) {
  return sum + ((Ints)((Words)x << 16) >> 16) * ((Ints)((Words)y << 16) >> 16) + (x >> 16) * (y >> 16);
}
#else
#define RELUCENT_VNNI 0
#endif

struct DotInt16 {
  using Sum = Ints;
  static constexpr std::size_t kMostSteps = kInt16Inputs / 2;  // whose products' sum is below 2^31
  static constexpr bool kTwoByTwo = false;
  static constexpr std::size_t kSteps = 1;
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::int16; }
  RELUCENT_INLINE static Sum start(const Product&, std::size_t) { return Ints{}; }
  RELUCENT_INLINE static Ints operand(Ints units) { return units; }
  RELUCENT_INLINE static Sum add(Sum sum, std::int32_t weight, Ints units) {
#if RELUCENT_VNNI
    return add_pairs(sum, units, Ints{} + weight);
#elif RELUCENT_PAIRS
    return sum + multiply_pairs((Shorts)units, (Shorts)(Ints{} + weight));
#else
    const std::int32_t low = static_cast<std::int16_t>(weight), high = weight >> 16;
    return sum + ((Ints)((Words)units << 16) >> 16) * low + (units >> 16) * high;
#endif
  }
  RELUCENT_INLINE static Floats value(const Product& product, Floats sum, std::size_t feature, std::size_t token) {
    return sum * (load(product.token_scales + token) * product.weight_scales[feature]);
  }
};

// The sum of a feature, the first or the second one, from those of two times two tokens with two features:
// (token 0, feature 0), (token 0, feature 1), (token 1, feature 0), (token 1, feature 1).
#if RELUCENT_MATRIX
template <typename Sum>
struct TwoByTwo {
  static constexpr bool kTwoByTwo = true;
  static constexpr std::size_t kSteps = 2;
  RELUCENT_INLINE static Sum of_feature(Sum tokens, Sum next_tokens, std::size_t feature) {
    const Ints first = {0, 2, 4, 6}, second = {1, 3, 5, 7};
    return (Sum)shuffled((Floats)tokens, (Floats)next_tokens, feature == 0 ? first : second);
  }
};
#endif

#if RELUCENT_MATRIX
struct DotBf16 : TwoByTwo<Floats> {
  using Sum = Floats;
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::bf16; }
  RELUCENT_INLINE static Sum start(const Product&, std::size_t) { return Floats{}; }
  RELUCENT_INLINE static Sum add(Sum sum, Ints features, Ints tokens) {
#if RELUCENT_BF16
    return (Floats)vbfmmlaq_f32((float32x4_t)sum, (bfloat16x8_t)tokens, (bfloat16x8_t)features);
#else
    // In the order of the other levels without the instruction.
    for (std::int32_t step = 0; step < 2; ++step) {
      const Ints of_token = {step, step, 2 + step, 2 + step}, of_feature = {step, 2 + step, step, 2 + step};
      const Words x = (Words)shuffled((Floats)tokens, (Floats)tokens, of_token);
      const Words w = (Words)shuffled((Floats)features, (Floats)features, of_feature);
      sum = multiply_add((Floats)(w & 0xFFFF0000U), (Floats)(x & 0xFFFF0000U), sum);
      sum = multiply_add((Floats)(w << 16), (Floats)(x << 16), sum);
    }
    return sum;
#endif
  }
  RELUCENT_INLINE static Floats value(const Product&, Sum sum, std::size_t, std::size_t) { return sum; }
};
#elif RELUCENT_BF16
struct DotBf16 : DotF32 {
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::bf16; }
  RELUCENT_INLINE static Sum add(Sum sum, Weight weight, Ints units) {
    Ints weights = Ints{} + weight;
#if defined(__clang__) && __clang_major__ < 17
    asm("" : "+v"(weights));  // Clang 16 crashes where it knows that all pairs are equal
#endif
    return (Floats)_mm512_dpbf16_ps((__m512)sum, (__m512bh)weights, (__m512bh)units);
  }
};
#else
struct DotBf16 : DotF32 {
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::bf16; }
  // Computes what the instruction does, except for its internal rounding.
  RELUCENT_INLINE static Sum add(Sum sum, std::int32_t weight, Ints units) {
    const auto upper = static_cast<std::int32_t>(static_cast<std::uint32_t>(weight) & 0xFFFF0000U);
    const auto lower_half = static_cast<std::int32_t>(static_cast<std::uint32_t>(weight) << 16);
    sum = multiply_add(all(__builtin_bit_cast(float, upper)), (Floats)((Words)units & 0xFFFF0000U), sum);
    return multiply_add(all(__builtin_bit_cast(float, lower_half)), (Floats)((Words)units << 16), sum);
  }
};
#endif

struct DotInt8
#if RELUCENT_MATRIX
    : TwoByTwo<Ints>
#endif
{
  using Sum = Ints;
  RELUCENT_INLINE static Arithmetic arithmetic(const Product&) { return Arithmetic::int8; }
#if RELUCENT_MATRIX
  RELUCENT_INLINE static Sum start(const Product& product, std::size_t feature) {
    const std::int32_t* const two = product.corrections + feature / 2 * 2;
    return Ints{two[0], two[1], two[0], two[1]};
  }
  RELUCENT_INLINE static Sum add(Sum sum, Ints features, Ints tokens) {
    return (Ints)vusmmlaq_s32((int32x4_t)sum, (uint8x16_t)tokens, (int8x16_t)features);
  }
#elif RELUCENT_INT8 && defined(__ARM_NEON)
  static constexpr bool kTwoByTwo = false;
  static constexpr std::size_t kSteps = 1;
  // The instruction takes two signed bytes, so that zero is 0, not 128, and the sum needs no correction.
  RELUCENT_INLINE static Sum start(const Product&, std::size_t) { return Ints{}; }
  RELUCENT_INLINE static Ints operand(Ints units) { return (Ints)((Words)units ^ 0x80808080U); }
  RELUCENT_INLINE static Sum add(Sum sum, Weight weight, Ints units) {
    return (Ints)vdotq_laneq_s32((int32x4_t)sum, (int8x16_t)units, (int8x16_t)weight.four, weight.lane);
  }
#else
  static constexpr bool kTwoByTwo = false;
  static constexpr std::size_t kSteps = 1;
  RELUCENT_INLINE static Sum start(const Product& product, std::size_t feature) {
    return Ints{} + product.corrections[feature];
  }
  RELUCENT_INLINE static Ints operand(Ints units) { return units; }
  RELUCENT_INLINE static Sum add(Sum sum, std::int32_t weight, Ints units) {
#if RELUCENT_VNNI
    return add_quads(sum, units, Ints{} + weight);
#elif RELUCENT_PAIRS
    // Two bytes at a time as 16-bit numbers, whose products and their sum are exact.
    const Shorts weights = (Shorts)(Ints{} + weight);
    const Shorts even = (Shorts)(units & 0x00FF00FF), odd = (Shorts)(((Words)units >> 8) & 0x00FF00FFU);
    return sum + multiply_pairs(even, (weights << 8) >> 8) + multiply_pairs(odd, weights >> 8);
#else
    for (int byte = 0; byte < 4; ++byte) {
      const auto one = static_cast<std::int8_t>(static_cast<std::uint32_t>(weight) >> (8 * byte));
      sum += ((units >> (8 * byte)) & 255) * static_cast<std::int32_t>(one);
    }
    return sum;
#endif
  }
#endif
  RELUCENT_INLINE static Floats value(const Product& product, Sum sum, std::size_t feature, std::size_t token) {
    const Floats scales = load(product.token_scales + token) * product.weight_scales[feature];
    return __builtin_convertvector(sum, Floats) * scales;
  }
};
