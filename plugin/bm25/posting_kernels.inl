// The kernels of posting_kernels.h, compiled once per instruction set with its own compiler flags:
//   RELUCENT_LEVEL   its name
//   RELUCENT_VBMI2   1 if bytes can be compressed (AVX-512 VBMI2)
// Uses no templates of the standard library: the linker could keep the copy of an inline function compiled here, which
// older processors cannot run.
#include "plugin/bm25/posting_kernels.h"

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
#include "plugin/bm25/decode_compressing.inl"
#else
constexpr auto decode = decode_one_by_one;  // NOLINT(readability-identifier-naming): a function
#endif

#if RELUCENT_VBMI2
#include "plugin/bm25/take_above_compressing.inl"
#else
using Doubles = double __attribute__((vector_size(64)));
using Longs = long long __attribute__((vector_size(64)));

inline bool any(const Longs& mask) {
  return (mask[0] | mask[1] | mask[2] | mask[3] | mask[4] | mask[5] | mask[6] | mask[7]) != 0;
}

std::size_t take_above(double* sums, const std::uint8_t* seen, std::size_t size, double limit, std::int32_t* places,
                       double* found) {
  std::size_t count = 0;
  for (std::size_t group = 0; group < size; group += 64) {
    Longs marks;
    __builtin_memcpy(&marks, seen + group, sizeof marks);
    if (!any(marks)) continue;
    for (std::size_t eight = group; eight < group + 64; eight += 8) {
      auto& eight_sums = *reinterpret_cast<Doubles*>(sums + eight);
      if (any(eight_sums > limit)) {
        for (std::size_t i = eight; i < eight + 8; ++i) {
          places[count] = static_cast<std::int32_t>(i);
          found[count] = sums[i];
          count += sums[i] > limit ? 1 : 0;
        }
      }
      eight_sums = Doubles{};
    }
  }
  return count;
}
#endif

std::size_t count_seen(std::uint8_t* seen, std::size_t size) {
  std::size_t count = 0;
  // Each byte of `sum` is at most 8. The multiplication adds them up in the highest byte: at most 64.
  for (std::size_t group = 0; group < size; group += 64) {
    std::uint64_t words[8], sum = 0;
    __builtin_memcpy(words, seen + group, sizeof words);
    for (const std::uint64_t word : words) sum += word;
    count += (sum * 0x0101010101010101U) >> 56;
  }
  __builtin_memset(seen, 0, size);
  return count;
}

}  // namespace

#define RELUCENT_TEXT_OF(name) #name
#define RELUCENT_TEXT(name) RELUCENT_TEXT_OF(name)
const PostingKernels kPostingKernels = {RELUCENT_TEXT(RELUCENT_LEVEL), decode, take_above, count_seen};

}  // namespace relucent::bm25::RELUCENT_LEVEL
