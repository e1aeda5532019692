// Products of a query's vectors with a document's. Included by vector_kernels.inl.

// Sums V vectors of queries by R rows in registers.
template <std::size_t V, std::size_t R>
RELUCENT_LONG void best_of_rows(const BestProducts& p, std::size_t query, std::size_t row) {
  Floats sums[R][V] = {};
  const float* const queries = p.queries + query;
  const float* const rows = p.rows + row * p.size;
  for (std::size_t f = 0; f < p.size; ++f) {
    Floats values[V];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < V; ++v) values[v] = load(queries + f * p.stride + v * kLanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const Floats number = all(rows[r * p.size + f]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < V; ++v) sums[r][v] = multiply_add(number, values[v], sums[r][v]);
    }
  }
  for (std::size_t v = 0; v < V; ++v) {
    float* const to = p.best + query + v * kLanes;
    Floats best = load(to);
    for (std::size_t r = 0; r < R; ++r) best = higher(best, sums[r][v]);
    store(to, best);
  }
}

template <std::size_t V>
void best_of_queries(const BestProducts& p, std::size_t query) {
  constexpr std::size_t together = RELUCENT_REGISTERS == 32 ? 24 / V : 12 / V;
  constexpr std::size_t R = together < 8 ? together : 8;
  std::size_t row = 0;
  for (; row + R <= p.count; row += R) best_of_rows<V, R>(p, query, row);
  for (; row < p.count; ++row) best_of_rows<V, 1>(p, query, row);
}

void best_products(const BestProducts& p) {
  constexpr std::size_t V = RELUCENT_LANES == 16 ? 2 : 4;
  std::size_t query = 0;
  for (; query + V * kLanes <= p.stride; query += V * kLanes) best_of_queries<V>(p, query);
  for (; query < p.stride; query += kLanes) best_of_queries<1>(p, query);
}

using UnalignedHalves [[gnu::vector_size(2 * kLanes), gnu::aligned(1), gnu::may_alias]] = std::uint16_t;
using UnalignedBytes [[gnu::vector_size(kLanes), gnu::aligned(1), gnu::may_alias]] = std::int8_t;

void widen(EmbeddingNumbers numbers, const char* stored, std::size_t size, std::size_t count, float* to) {
  const std::size_t whole = size / kLanes * kLanes;
  switch (numbers) {
    case EmbeddingNumbers::fp32: __builtin_memcpy(to, stored, sizeof(float) * size * count); return;
    case EmbeddingNumbers::fp16:
      for (std::size_t i = 0; i < count; ++i, to += size, stored += 2 * size) {
        // The exponent's bias grows by 112, also of subnormal numbers.
        for (std::size_t f = 0; f < whole; f += kLanes) {
          const Ints bits = __builtin_convertvector(*reinterpret_cast<const UnalignedHalves*>(stored + 2 * f), Ints);
          const Floats wide = (Floats)((bits & 0x7FFF) << 13) * 0x1p112F;
          store(to + f, (Floats)((Ints)wide | ((bits & 0x8000) << 16)));
        }
        for (std::size_t f = whole; f < size; ++f) {
          std::uint16_t half;
          __builtin_memcpy(&half, stored + 2 * f, sizeof half);
          const float wide = __builtin_bit_cast(float, (half & 0x7FFF) << 13) * 0x1p112F;
          to[f] = (half & 0x8000) != 0 ? -wide : wide;
        }
      }
      return;
    case EmbeddingNumbers::int8:
      for (std::size_t i = 0; i < count; ++i, to += size, stored += sizeof(float) + size) {
        float scale;
        __builtin_memcpy(&scale, stored, sizeof scale);
        const char* const values = stored + sizeof scale;
        for (std::size_t f = 0; f < whole; f += kLanes) {
          const Ints steps = __builtin_convertvector(*reinterpret_cast<const UnalignedBytes*>(values + f), Ints);
          store(to + f, __builtin_convertvector(steps, Floats) * scale);
        }
        for (std::size_t f = whole; f < size; ++f)
          to[f] = scale * static_cast<float>(static_cast<std::int8_t>(values[f]));
      }
  }
}
