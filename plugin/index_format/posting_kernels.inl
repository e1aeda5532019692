// The kernels of posting_kernels.h, compiled once per instruction set with its own compiler flags:
//   RELUCENT_LEVEL   its name
//   RELUCENT_VBMI2   1 if bytes can be compressed (AVX-512 VBMI2)
// Uses no templates of the standard library: the linker could keep the copy of an inline function compiled here, which
// older processors cannot run.
#include "plugin/index_format/posting_kernels.h"

namespace relucent::bm25::RELUCENT_LEVEL {
namespace {

inline std::uint32_t read_number(const std::uint8_t*& bytes) {
  std::uint32_t byte = *bytes++;
  std::uint32_t value = byte & 0x7FU;
  for (int shift = 7; (byte & 0x80U) != 0 && shift < 35; shift += 7) {
    byte = *bytes++;
    value |= (byte & 0x7FU) << shift;
  }
  return value;
}

const std::uint8_t* decode_one_by_one(const std::uint8_t* bytes, std::int32_t count, std::int64_t& document,
                                      std::int32_t* documents, std::int32_t* frequencies) {
  std::int64_t last = document;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::uint32_t code = read_number(bytes);
    last += code >> 1;
    documents[i] = static_cast<std::int32_t>(last);
    frequencies[i] = (code & 1U) != 0 ? 1 : static_cast<std::int32_t>(read_number(bytes));
  }
  document = last;
  return bytes;
}

#if RELUCENT_VBMI2
#include "plugin/index_format/decode_compressing.inl"
#else
constexpr auto decode = decode_one_by_one;  // NOLINT(readability-identifier-naming): a function
#endif

inline std::size_t count_64(const std::uint8_t* marks) {
#if RELUCENT_VBMI2
  const __m512i all = _mm512_loadu_si512(marks);
  return static_cast<std::size_t>(__builtin_popcountll(_mm512_test_epi8_mask(all, all)));
#else
  std::uint8_t count = 0;
  for (std::size_t i = 0; i < 64; ++i) count = static_cast<std::uint8_t>(count + (marks[i] != 0 ? 1 : 0));
  return count;
#endif
}

std::size_t count_marks(std::uint8_t* marks, std::size_t size) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; i += 64) count += count_64(marks + i);
  __builtin_memset(marks, 0, size);
  return count;
}

void add_products(std::uint16_t* sums, const std::uint8_t* factors, std::size_t size, std::uint16_t by) {
  for (std::size_t i = 0; i < size; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + by * factors[i]);
}

void sum_products(std::uint16_t* sums, std::size_t size, const std::uint8_t* const* factors, const std::uint16_t* by,
                  std::size_t lists) {
  constexpr std::size_t kInFirstCache = 4096;  // sums that stay there until all lists are added
  for (std::size_t begin = 0; begin < size; begin += kInFirstCache) {
    const std::size_t count = size - begin < kInFirstCache ? size - begin : kInFirstCache;
    __builtin_memset(sums + begin, 0, count * sizeof(*sums));
    for (std::size_t list = 0; list < lists; ++list) add_products(sums + begin, factors[list] + begin, count, by[list]);
  }
}

#if RELUCENT_VBMI2
constexpr std::uint16_t kFirstPlaces[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                            16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
#endif

std::size_t find_above(const std::uint16_t* sums, std::size_t size, std::uint16_t limit, std::uint16_t* places) {
  std::size_t count = 0, begin = 0;
#if RELUCENT_VBMI2
  constexpr std::size_t kAtOnce = 32;
  const __m512i limits = _mm512_set1_epi16(static_cast<short>(limit)), step = _mm512_set1_epi16(kAtOnce);
  __m512i place = _mm512_loadu_si512(kFirstPlaces);
  for (; size - begin >= kAtOnce; begin += kAtOnce) {
    const __mmask32 above = _mm512_cmpgt_epu16_mask(_mm512_loadu_si512(sums + begin), limits);
    _mm512_storeu_si512(places + count, _mm512_maskz_compress_epi16(above, place));
    count += static_cast<std::size_t>(__builtin_popcount(above));
    place = _mm512_add_epi16(place, step);
  }
#else
  constexpr std::size_t kAtOnce = 16;  // few sums are above the limit
  for (; size - begin >= kAtOnce; begin += kAtOnce) {
    std::uint16_t any = 0;
    for (std::size_t i = begin; i < begin + kAtOnce; ++i) {
      any = static_cast<std::uint16_t>(any | (sums[i] > limit ? 0xFFFF : 0));
    }
    if (any == 0) continue;
    for (std::size_t i = begin; i < begin + kAtOnce; ++i) {
      places[count] = static_cast<std::uint16_t>(i);
      count += sums[i] > limit ? 1 : 0;
    }
  }
#endif
  for (; begin < size; ++begin) {
    places[count] = static_cast<std::uint16_t>(begin);
    count += sums[begin] > limit ? 1 : 0;
  }
  return count;
}

}  // namespace

constexpr double kMostLive = RELUCENT_VBMI2 ? 0.15 : 0.5;  // estimated, as all is read three times as fast; measured

#define RELUCENT_TEXT_OF(name) #name
#define RELUCENT_TEXT(name) RELUCENT_TEXT_OF(name)
const PostingKernels kPostingKernels = {
    RELUCENT_TEXT(RELUCENT_LEVEL), kMostLive, decode, count_marks, sum_products, find_above};

}  // namespace relucent::bm25::RELUCENT_LEVEL
