// Vectors of RELUCENT_LANES floats and their functions. Included by vector_kernels.inl.

constexpr std::size_t kLanes = RELUCENT_LANES;
constexpr std::size_t kPanelVectors = RELUCENT_AMX != 0 ? 2 : 3;
constexpr std::size_t kPanel = kPanelVectors * kLanes;
using Floats [[gnu::vector_size(4 * kLanes)]] = float;
using Ints [[gnu::vector_size(4 * kLanes)]] = std::int32_t;
using Words [[gnu::vector_size(4 * kLanes)]] = std::uint32_t;
using Shorts [[gnu::vector_size(4 * kLanes)]] = std::int16_t;
using UnalignedFloats [[gnu::vector_size(4 * kLanes), gnu::aligned(4), gnu::may_alias]] = float;
using UnalignedInts [[gnu::vector_size(4 * kLanes), gnu::aligned(4), gnu::may_alias]] = std::int32_t;

#define RELUCENT_INLINE [[gnu::always_inline]] inline
// Not inlined where no register holds a vector: the emulated level would take the compiler a minute and a half.
#if RELUCENT_LANES == 16 && !defined(__AVX512F__)
#define RELUCENT_LONG [[gnu::noinline]]
#else
#define RELUCENT_LONG RELUCENT_INLINE
#endif

RELUCENT_INLINE Floats load(const float* from) { return *reinterpret_cast<const UnalignedFloats*>(from); }
RELUCENT_INLINE void store(float* to, Floats value) { *reinterpret_cast<UnalignedFloats*>(to) = value; }
RELUCENT_INLINE Ints load_units(const void* from) { return *static_cast<const UnalignedInts*>(from); }
RELUCENT_INLINE void store_units(void* to, Ints value) { *static_cast<UnalignedInts*>(to) = value; }
// Subtracting zero changes no value, not even -0, so the compiler removes the subtraction.
RELUCENT_INLINE Floats all(float value) { return value - Floats{}; }
// b if either is NaN. GCC 12 turns the comparison into one instruction except with AVX-512's masks; it warns about the
// intrinsics without a mask.
#if defined(__AVX512F__)
RELUCENT_INLINE Floats higher(Floats a, Floats b) { return (Floats)_mm512_maskz_max_ps(0xFFFF, (__m512)a, (__m512)b); }
RELUCENT_INLINE Floats lower(Floats a, Floats b) { return (Floats)_mm512_maskz_min_ps(0xFFFF, (__m512)a, (__m512)b); }
#else
RELUCENT_INLINE Floats higher(Floats a, Floats b) { return a > b ? a : b; }
RELUCENT_INLINE Floats lower(Floats a, Floats b) { return a < b ? a : b; }
#endif
RELUCENT_INLINE Floats magnitude(Floats a) { return (Floats)((Ints)a & 0x7FFFFFFF); }

// a * b + c, rounded once if the level has fused multiply-add, otherwise twice. Nothing else is fused: these files are
// compiled with -ffp-contract=off, because the compiler would fuse different sums on each level, and so the bits would
// differ.
RELUCENT_INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
#if RELUCENT_LANES == 16 && defined(__AVX512F__)
  return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif RELUCENT_LANES == 16 && defined(__FMA__)
  struct Halves {
    __m256 low, high;
  };
  const auto x = __builtin_bit_cast(Halves, a), y = __builtin_bit_cast(Halves, b), z = __builtin_bit_cast(Halves, c);
  return __builtin_bit_cast(Floats,
                            Halves{_mm256_fmadd_ps(x.low, y.low, z.low), _mm256_fmadd_ps(x.high, y.high, z.high)});
#elif RELUCENT_LANES == 8 && defined(__FMA__)
  return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif RELUCENT_LANES == 4 && defined(__ARM_FEATURE_FMA)
  return (Floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

RELUCENT_INLINE Floats square_root(Floats value) {
#if RELUCENT_LANES == 16 && defined(__AVX512F__)
  return (Floats)_mm512_maskz_sqrt_ps(0xFFFF, (__m512)value);
#elif RELUCENT_LANES == 8 && defined(__AVX2__)
  return (Floats)_mm256_sqrt_ps((__m256)value);
#elif RELUCENT_LANES == 4 && defined(__ARM_NEON)
  return (Floats)vsqrtq_f32((float32x4_t)value);
#else
  for (std::size_t i = 0; i < kLanes; ++i) value[i] = __builtin_sqrtf(value[i]);
  return value;
#endif
}

constexpr float kLowest = -3.0e38F;

RELUCENT_INLINE Ints lane_numbers() {
  Ints numbers{};
  for (std::size_t i = 0; i < kLanes; ++i) numbers[i] = static_cast<std::int32_t>(i);
  return numbers;
}

RELUCENT_INLINE void store_part(float* to, Floats value, std::size_t count) {
  float lanes[kLanes];
  store(lanes, value);
  for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
}

// Adds pairwise, always in the same order.
RELUCENT_LONG float sum(Floats value) {
  float part[kLanes];
  store(part, value);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) part[i] += part[i + half];
  }
  return part[0];
}
RELUCENT_LONG float highest(Floats value) {
  float part[kLanes];
  store(part, value);
  float best = part[0];
  for (std::size_t i = 1; i < kLanes; ++i) best = part[i] > best ? part[i] : best;
  return best;
}

// Lane i is a's lane from[i], or b's lane from[i] - kLanes.
RELUCENT_INLINE Floats shuffled(Floats a, Floats b, Ints from) {
#if defined(__clang__)  // which checks this source and has no such function
  const auto lanes = static_cast<std::int32_t>(kLanes);
  Floats result{};
  for (std::size_t i = 0; i < kLanes; ++i) result[i] = from[i] < lanes ? a[from[i]] : b[from[i] - lanes];
  return result;
#else
  return __builtin_shuffle(a, b, from);
#endif
}

// rows[i][j] <- rows[j][i]: swaps the off-diagonal quarters of squares of 2, 4, ... lanes.
RELUCENT_LONG void transpose(Floats (&rows)[kLanes]) {
#pragma GCC unroll 4
  for (std::size_t half = 1; half < kLanes; half *= 2) {
    Ints first{}, second{};
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLanes; ++i) {
      const bool right = (i & half) != 0;
      first[i] = static_cast<std::int32_t>(right ? kLanes + i - half : i);
      second[i] = static_cast<std::int32_t>(right ? kLanes + i : i + half);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLanes; ++i) {
      if ((i & half) != 0) continue;
      const Floats a = rows[i], b = rows[i + half];
      rows[i] = shuffled(a, b, first);
      rows[i + half] = shuffled(a, b, second);
    }
  }
}

// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln 2 / 2; ln 2 in two parts (Cody, Waite 1980); e^r by its Taylor
// polynomial of degree 7, whose remainder is below 1e-8. Relative error about 1e-7 for x in [-87, 88]; 0 below.
RELUCENT_LONG Floats exponential(Floats x) {
  constexpr float log2_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float to_integer = 12582912.0F;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const Floats bounded = lower(higher(x, all(-87.0F)), all(88.0F));
  const Floats shifted = multiply_add(bounded, all(log2_e), all(to_integer));
  const Floats n = shifted - to_integer;
  const Floats r = multiply_add(n, all(-ln2_low), multiply_add(n, all(-ln2_high), bounded));
  Floats power = all(1.0F / 5040);
  power = multiply_add(power, r, all(1.0F / 720));
  power = multiply_add(power, r, all(1.0F / 120));
  power = multiply_add(power, r, all(1.0F / 24));
  power = multiply_add(power, r, all(1.0F / 6));
  power = multiply_add(power, r, all(0.5F));
  power = multiply_add(power, r, all(1.0F));
  power = multiply_add(power, r, all(1.0F));
  const Ints exponent = __builtin_convertvector(n, Ints) + 127;
  const Ints bits = exponent << 23;  // the cast below keeps the bits
  const Floats result = power * (Floats)bits;
  return x < all(-87.0F) ? all(0.0F) : result;
}

// 0.5 x (1 + erf(x / sqrt 2)); erf(x / sqrt 2) = x P(x^2) / Q(x^2) for |x| <= 5.6, a least-squares fit weighted towards
// the largest error, which is 2.7e-7; 1 beyond. GELU's own absolute error is below 2e-6.
RELUCENT_LONG Floats gelu(Floats x) {
  constexpr float limit = 5.6F;
  const Floats bounded = lower(higher(x, all(-limit)), all(limit));
  const Floats square = bounded * bounded;
  Floats numerator = all(1.6102347e-05F);
  numerator = multiply_add(numerator, square, all(0.0009052829F));
  numerator = multiply_add(numerator, square, all(0.0128520215F));
  numerator = multiply_add(numerator, square, all(0.12396871F));
  numerator = multiply_add(numerator, square, all(0.79788285F));
  Floats denominator = all(6.525751e-07F);
  denominator = multiply_add(denominator, square, all(0.00016280205F));
  denominator = multiply_add(denominator, square, all(0.0035074255F));
  denominator = multiply_add(denominator, square, all(0.044802934F));
  denominator = multiply_add(denominator, square, all(0.3220247F));
  denominator = multiply_add(denominator, square, all(1.0F));
  const Floats erf = bounded * numerator / denominator;
  const Floats half = 0.5F * x;
  const Floats inside = multiply_add(half, erf, half);
  return x < all(-limit) ? all(0.0F) : inside;
}

// The same for results that are rounded to 16 or 8 bits, without a division: erf(x / sqrt 2) = 2 x P(x^2) for |x|
// <= 4.2, a minimax fit of GELU's absolute error with P(4.2^2) 4.2 = 1/2; constant beyond. In exact arithmetic the
// error is at most 7.5e-5, at |x| = 4.2 and below; evaluated in fp32 it is below 1e-4 for |x| <= 4.2 and 1e-4 + 3e-6
// (|x| - 4.2) beyond.
RELUCENT_LONG Floats short_gelu(Floats x) {
  constexpr float limit = 4.2F;
  const Floats bounded = lower(higher(x, all(-limit)), all(limit));
  const Floats square = bounded * bounded;
  Floats half = all(-9.01748343e-10F);
  half = multiply_add(half, square, all(7.94131054e-08F));
  half = multiply_add(half, square, all(-3.03792558e-06F));
  half = multiply_add(half, square, all(6.68906505e-05F));
  half = multiply_add(half, square, all(-0.000950657646F));
  half = multiply_add(half, square, all(0.00929823332F));
  half = multiply_add(half, square, all(-0.0655282214F));
  half = multiply_add(half, square, all(0.398465663F));
  return x * multiply_add(half, bounded, all(0.5F));
}

// Rounds to bf16, to nearest, ties to even, in the upper half of each lane: adds half a unit of the last kept bit,
// minus one if that bit is even. NaN stays NaN.
RELUCENT_INLINE Words rounded_to_bf16(Floats value) {
  const Words bits = (Words)value;
  const Words rounded = bits + 0x7FFFU + (bits >> 16 & 1U);
  const Words kept = value == value ? rounded : (bits | 0x00400000U);
  return kept & 0xFFFF0000U;
}

// Replaces denormals with zeros of the same sign, like the instruction that rounds to bf16.
RELUCENT_INLINE Floats without_denormals(Floats value) {
  const Words bits = (Words)value;
  return (Floats)((bits & 0x7F800000U) == 0 ? bits & 0x80000000U : bits);
}

// Packs two features as bf16, the first in the lower half.
RELUCENT_LONG Ints bf16_pair(Floats first, Floats second) {
#if RELUCENT_BF16 && defined(__ARM_NEON)
  // Unlike the products' instruction, this one keeps denormals.
  const bfloat16x8_t firsts = vcvtq_low_bf16_f32((float32x4_t)without_denormals(first));
  const bfloat16x8_t seconds = vcvtq_low_bf16_f32((float32x4_t)without_denormals(second));
  return (Ints)vzip1q_u16((uint16x8_t)firsts, (uint16x8_t)seconds);
#elif RELUCENT_BF16
  alignas(64) static constexpr std::uint16_t interleaved[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                                21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                                11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
  return (Ints)_mm512_permutexvar_epi16(_mm512_load_si512(interleaved), both);
#else
  return (Ints)(rounded_to_bf16(without_denormals(first)) >> 16 | rounded_to_bf16(without_denormals(second)));
#endif
}

// Between two tokens' units in operands of bf16 and int8 (WeightLayout::step_pairs).
constexpr std::size_t kShortStride = RELUCENT_MATRIX != 0 ? 2 : 1;
constexpr std::size_t unit_stride(Arithmetic arithmetic) { return has_layout(arithmetic) ? kShortStride : 1; }

// Where an operand has a token's unit of one step. units: the token's unit of step 0.
template <std::size_t stride>
RELUCENT_INLINE float* unit_at(float* units, std::size_t step) {
  return units + step / stride * stride * kPanel + step % stride;
}
// Stores a vector of tokens' units of one step.
template <std::size_t stride>
RELUCENT_INLINE void store_step(float* units, std::size_t step, Ints value) {
  float* const to = unit_at<stride>(units, step);
  if constexpr (stride == 1) {
    store_units(to, value);
  } else {
    for (std::size_t lane = 0; lane < kLanes; ++lane) to[lane * stride] = ((Floats)value)[lane];
  }
}
