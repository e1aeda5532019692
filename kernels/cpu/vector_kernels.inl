// The kernels of vector_kernels.h for RELUCENT_LANES floats at a time, compiled once an instruction set with its own
// compiler flags. Written in GCC's vector types, so that the source is the same for all. Nothing from the standard library's
// templates is used: an inline function compiled here for a newer processor must never be the one that the linker keeps.
#include "cpu/vector_kernels.h"

namespace relucent::cpu::RELUCENT_LEVEL {
namespace {

constexpr std::size_t kLanes = RELUCENT_LANES;
typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t Ints __attribute__((vector_size(4 * kLanes)));
typedef float Unaligned __attribute__((vector_size(4 * kLanes), aligned(4)));

#define RELUCENT_INLINE [[gnu::always_inline]] inline

RELUCENT_INLINE Floats load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
RELUCENT_INLINE void store(float* to, Floats value) { *reinterpret_cast<Unaligned*>(to) = value; }
RELUCENT_INLINE Floats all(float value) { return Floats{} + value; }
RELUCENT_INLINE Floats higher(Floats a, Floats b) { return a > b ? a : b; }
RELUCENT_INLINE Floats lower(Floats a, Floats b) { return a < b ? a : b; }

// The first `count` < kLanes floats, the rest `fill`.
RELUCENT_INLINE Floats load_part(const float* from, std::size_t count, float fill) {
  Floats value = all(fill);
  for (std::size_t i = 0; i < count; ++i) value[i] = from[i];
  return value;
}
RELUCENT_INLINE void store_part(float* to, Floats value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = value[i];
}

// Pairwise, always in the same order.
RELUCENT_INLINE float sum(Floats value) {
  float part[kLanes];
  store(part, value);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) part[i] += part[i + half];
  }
  return part[0];
}
RELUCENT_INLINE float highest(Floats value) {
  float best = value[0];
  for (std::size_t i = 1; i < kLanes; ++i) best = value[i] > best ? value[i] : best;
  return best;
}

// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln 2 / 2; ln 2 in two parts (Cody, Waite 1980); e^r by its Taylor
// polynomial of degree 7, whose rest is below 1e-8. Relative error about 1e-7 for x in [-87, 88]; 0 below.
RELUCENT_INLINE Floats exponential(Floats x) {
  constexpr float log2_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float to_integer = 12582912.0F;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const Floats bounded = lower(higher(x, all(-87.0F)), all(88.0F));
  const Floats shifted = bounded * log2_e + to_integer;
  const Floats n = shifted - to_integer;
  const Floats r = (bounded - n * ln2_high) - n * ln2_low;
  Floats power = all(1.0F / 5040);
  power = power * r + 1.0F / 720;
  power = power * r + 1.0F / 120;
  power = power * r + 1.0F / 24;
  power = power * r + 1.0F / 6;
  power = power * r + 0.5F;
  power = power * r + 1.0F;
  power = power * r + 1.0F;
  const Ints exponent = __builtin_convertvector(n, Ints) + 127;
  const Ints bits = exponent << 23;  // the cast below keeps the bits
  const Floats result = power * (Floats)bits;
  return x < all(-87.0F) ? all(0.0F) : result;
}

// 0.5 x (1 + erf(x / sqrt 2)); erf by Abramowitz and Stegun 7.1.26, absolute error at most 1.5e-7.
RELUCENT_INLINE Floats gelu(Floats x) {
  constexpr float sqrt_half = 0.70710678F;
  const Floats scaled = x * sqrt_half;
  const Floats magnitude = scaled < all(0.0F) ? -scaled : scaled;
  const Floats t = 1.0F / (1.0F + 0.3275911F * magnitude);
  Floats polynomial = all(1.061405429F);
  polynomial = polynomial * t + -1.453152027F;
  polynomial = polynomial * t + 1.421413741F;
  polynomial = polynomial * t + -0.284496736F;
  polynomial = polynomial * t + 0.254829592F;
  const Floats complement = polynomial * t * exponential(-(magnitude * magnitude));  // erfc(|x| / sqrt 2)
  // x < 0: 0.5 x erfc, so that nothing cancels; x >= 0: x - 0.5 x erfc.
  const Floats part = 0.5F * x * complement;
  return x < all(0.0F) ? part : x - part;
}

RELUCENT_INLINE float dot(const float* a, const float* b, std::size_t size) {
  Floats even{}, odd{};
  std::size_t i = 0;
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) {
    even += load(a + i) * load(b + i);
    odd += load(a + i + kLanes) * load(b + i + kLanes);
  }
  for (; i + kLanes <= size; i += kLanes) even += load(a + i) * load(b + i);
  if (i < size) odd += load_part(a + i, size - i, 0) * load_part(b + i, size - i, 0);
  return sum(even + odd);
}

void dot_products(const float* vector, const float* rows, std::size_t stride, std::size_t count, std::size_t size,
                  float* products) {
  for (std::size_t k = 0; k < count; ++k) products[k] = dot(vector, rows + k * stride, size);
}

// output[i] += sum_k weights[k] rows[k][i], four vectors of the output in registers at a time.
RELUCENT_INLINE void accumulate(const float* weights, const float* rows, std::size_t stride, std::size_t count,
                                std::size_t size, float* output) {
  std::size_t i = 0;
  for (; i + 4 * kLanes <= size; i += 4 * kLanes) {
    Floats a = load(output + i), b = load(output + i + kLanes), c = load(output + i + 2 * kLanes),
           d = load(output + i + 3 * kLanes);
    for (std::size_t k = 0; k < count; ++k) {
      const float* row = rows + k * stride + i;
      const Floats weight = all(weights[k]);
      a += weight * load(row);
      b += weight * load(row + kLanes);
      c += weight * load(row + 2 * kLanes);
      d += weight * load(row + 3 * kLanes);
    }
    store(output + i, a);
    store(output + i + kLanes, b);
    store(output + i + 2 * kLanes, c);
    store(output + i + 3 * kLanes, d);
  }
  for (; i + kLanes <= size; i += kLanes) {
    Floats a = load(output + i);
    for (std::size_t k = 0; k < count; ++k) a += weights[k] * load(rows + k * stride + i);
    store(output + i, a);
  }
  if (i < size) {
    Floats a = load_part(output + i, size - i, 0);
    for (std::size_t k = 0; k < count; ++k) a += weights[k] * load_part(rows + k * stride + i, size - i, 0);
    store_part(output + i, a, size - i);
  }
}

void weighted_sum(const float* weights, const float* rows, std::size_t stride, std::size_t count, std::size_t size,
                  float* output) {
  for (std::size_t i = 0; i < size; ++i) output[i] = 0;
  accumulate(weights, rows, stride, count, size, output);
}

void softmax(float* values, std::size_t count) {
  constexpr float lowest = -3.0e38F;
  const std::size_t whole = count / kLanes * kLanes, rest = count - whole;
  Floats best = load_part(values + whole, rest, lowest);
  for (std::size_t i = 0; i < whole; i += kLanes) best = higher(best, load(values + i));
  const float shift = highest(best);
  Floats total{};
  for (std::size_t i = 0; i < whole; i += kLanes) {
    const Floats power = exponential(load(values + i) - shift);
    store(values + i, power);
    total += power;
  }
  if (rest != 0) {
    const Floats power = exponential(load_part(values + whole, rest, lowest) - shift);
    store_part(values + whole, power, rest);
    total += power;  // the lanes beyond are e^lowest = 0
  }
  const float scale = 1.0F / sum(total);
  for (std::size_t i = 0; i < count; ++i) values[i] *= scale;
}

void attend(const float* query, const Segment* segments, std::size_t segment_count, std::size_t head_size, float scale,
            float* scores, float* output) {
  std::size_t count = 0;
  for (std::size_t s = 0; s < segment_count; ++s) {
    const Segment& segment = segments[s];
    dot_products(query, segment.keys, segment.stride, segment.count, head_size, scores + count);
    count += segment.count;
  }
  for (std::size_t i = 0; i < count; ++i) scores[i] *= scale;
  softmax(scores, count);
  for (std::size_t i = 0; i < head_size; ++i) output[i] = 0;
  count = 0;
  for (std::size_t s = 0; s < segment_count; ++s) {
    const Segment& segment = segments[s];
    accumulate(scores + count, segment.values, segment.stride, segment.count, head_size, output);
    count += segment.count;
  }
}

void add_layer_norm(float* x, const float* y, const float* bias, const float* gamma, const float* beta, float epsilon,
                    std::size_t rows, std::size_t size) {
  const std::size_t whole = size / kLanes * kLanes;
  for (std::size_t row = 0; row < rows; ++row) {
    float* values = x + row * size;
    const float* added = y == nullptr ? nullptr : y + row * size;
    Floats partial{};
    float total = 0;
    for (std::size_t i = 0; i < whole; i += kLanes) {
      Floats value = load(values + i);
      if (added != nullptr) value += load(added + i);
      if (bias != nullptr) value += load(bias + i);
      store(values + i, value);
      partial += value;
    }
    for (std::size_t i = whole; i < size; ++i) {
      values[i] += (added == nullptr ? 0 : added[i]) + (bias == nullptr ? 0 : bias[i]);
      total += values[i];
    }
    const float mean = (total + sum(partial)) / static_cast<float>(size);
    Floats squares{};
    total = 0;
    for (std::size_t i = 0; i < whole; i += kLanes) {
      const Floats centred = load(values + i) - mean;
      squares += centred * centred;
    }
    for (std::size_t i = whole; i < size; ++i) total += (values[i] - mean) * (values[i] - mean);
    const float variance = (total + sum(squares)) / static_cast<float>(size);
    const float scale = 1.0F / __builtin_sqrtf(variance + epsilon);
    for (std::size_t i = 0; i < whole; i += kLanes) {
      store(values + i, (load(values + i) - mean) * scale * load(gamma + i) + load(beta + i));
    }
    for (std::size_t i = whole; i < size; ++i) values[i] = (values[i] - mean) * scale * gamma[i] + beta[i];
  }
}

void add_gelu(float* x, const float* bias, std::size_t rows, std::size_t size) {
  const std::size_t whole = size / kLanes * kLanes, rest = size - whole;
  for (std::size_t row = 0; row < rows; ++row) {
    float* values = x + row * size;
    for (std::size_t i = 0; i < whole; i += kLanes) store(values + i, gelu(load(values + i) + load(bias + i)));
    if (rest != 0) {
      const Floats value = load_part(values + whole, rest, 0) + load_part(bias + whole, rest, 0);
      store_part(values + whole, gelu(value), rest);
    }
  }
}

void add_bias(float* x, const float* bias, std::size_t rows, std::size_t size) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < size; ++i) x[row * size + i] += bias[i];
  }
}

// Adds half of the last kept place, less one where that place is even; NaN is kept a NaN.
RELUCENT_INLINE std::uint32_t nearest_bf16(std::uint32_t bits) {
  const std::uint32_t rounded = bits + 0x7FFFU + (bits >> 16 & 1U);
  return (bits & 0x7FFFFFFFU) > 0x7F800000U ? (bits | 0x00400000U) : rounded;
}

void round_to_bf16(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, from + i, sizeof bits);
    to[i] = static_cast<std::uint16_t>(nearest_bf16(bits) >> 16);
  }
}

void round_within_f32(const float* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, from + i, sizeof bits);
    bits = nearest_bf16(bits) & 0xFFFF0000U;
    __builtin_memcpy(to + i, &bits, sizeof bits);
  }
}

#define RELUCENT_TEXT_OF(name) #name
#define RELUCENT_TEXT(name) RELUCENT_TEXT_OF(name)

}  // namespace

const VectorKernels kernels = {RELUCENT_TEXT(RELUCENT_LEVEL), attend,   dot_products, weighted_sum,  softmax,
                               add_layer_norm,                add_gelu, add_bias,     round_to_bf16, round_within_f32};

}  // namespace relucent::cpu::RELUCENT_LEVEL
