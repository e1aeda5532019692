// Decodes 64 bytes at a time with AVX-512 VBMI2; part of posting_kernels.inl.
//
// The high bits of the bytes show where each number begins. A number after an even code is a frequency. A frequency may
// itself be even, so codes and frequencies alternate in a run of even numbers, which always begins with a code. One
// addition, which carries through the runs that start at even positions, distinguishes the two kinds in all runs.

inline __m512i shifted_up(__m512i x, int lanes) {
  const __m512i zero = _mm512_setzero_si512();
  switch (lanes) {
    case 1: return _mm512_alignr_epi32(x, zero, 15);
    case 2: return _mm512_alignr_epi32(x, zero, 14);
    case 4: return _mm512_alignr_epi32(x, zero, 12);
    default: return _mm512_alignr_epi32(x, zero, 8);
  }
}

/// The positions of the numbers that are frequencies. @param even  one bit per number, set if the number is even
inline std::uint64_t frequency_places(std::uint64_t even) {
  constexpr std::uint64_t even_places = 0x5555555555555555U;
  const std::uint64_t starts = even & ~(even << 1);
  const std::uint64_t runs_from_even = even & ~(even + (starts & even_places));
  const std::uint64_t runs_from_odd = even & ~runs_from_even;
  return ((runs_from_even << 1) & ~even_places) | ((runs_from_odd << 1) & even_places);
}

const std::uint8_t* decode(const std::uint8_t* bytes, std::int32_t count, std::int64_t& document,
                           std::int32_t* documents, std::int32_t* frequencies) {
  constexpr std::int32_t minimum = 8;
  const __m512i one = _mm512_set1_epi8(1), last_lane = _mm512_set1_epi32(15);
  while (count > 0) {
    const __m512i here = _mm512_loadu_si512(bytes), next = _mm512_loadu_si512(bytes + 1);
    const std::uint64_t continued = _mm512_movepi8_mask(here);
    const std::uint64_t first_bytes = ~(continued << 1);
    const std::uint64_t odd = _mm512_test_epi8_mask(here, one);
    const int numbers = __builtin_popcountll(first_bytes);
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - numbers);
    const std::uint64_t frequency_numbers = frequency_places(_pext_u64(~odd, first_bytes)) & all;
    std::uint64_t codes = _pdep_u64(~frequency_numbers & all, first_bytes);
    const bool long_numbers = (continued & ((continued << 1) | _pdep_u64(frequency_numbers, first_bytes))) != 0;
    if (long_numbers || count < minimum) {
      const std::int32_t few = count < minimum ? count : minimum;
      bytes = decode_one_by_one(bytes, few, document, documents, frequencies);
      documents += few;
      frequencies += few;
      count -= few;
      continue;
    }
    // The last posting may extend beyond the 64 bytes, so the next round begins with it.
    std::int32_t postings = __builtin_popcountll(codes) - 1;
    int used = 63 - __builtin_clzll(codes);
    if (postings > count) {
      postings = count;
      used = __builtin_ctzll(_pdep_u64(std::uint64_t{1} << count, codes));
    }
    codes &= (std::uint64_t{1} << used) - 1;

    // The frequency is one byte after a one-byte code, two bytes after the start of a two-byte code.
    const __m512i behind = _mm512_mask_mov_epi8(next, continued, _mm512_loadu_si512(bytes + 2));
    const __m512i often = _mm512_maskz_compress_epi8(codes, _mm512_mask_mov_epi8(behind, odd, one));
    const __m512i low =
        _mm512_maskz_compress_epi8(codes, _mm512_and_si512(_mm512_srli_epi16(here, 1), _mm512_set1_epi8(0x3F)));
    const __m512i upper = _mm512_maskz_compress_epi8(codes, _mm512_maskz_mov_epi8(continued, next));
    __m512i base = _mm512_set1_epi32(static_cast<int>(document));
    alignas(64) std::uint8_t lows[64], uppers[64], oftens[64];
    _mm512_store_si512(lows, low);
    _mm512_store_si512(uppers, upper);
    _mm512_store_si512(oftens, often);
    for (std::int32_t i = 0; i < postings; i += 16) {
      const __m512i part = _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(lows + i)));
      const __m512i rest = _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(uppers + i)));
      __m512i sum = _mm512_or_si512(part, _mm512_slli_epi32(rest, 6));
      sum = _mm512_add_epi32(sum, shifted_up(sum, 1));
      sum = _mm512_add_epi32(sum, shifted_up(sum, 2));
      sum = _mm512_add_epi32(sum, shifted_up(sum, 4));
      sum = _mm512_add_epi32(sum, shifted_up(sum, 8));
      sum = _mm512_add_epi32(sum, base);
      _mm512_storeu_si512(documents + i, sum);
      _mm512_storeu_si512(frequencies + i,
                          _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(oftens + i))));
      base = _mm512_permutexvar_epi32(last_lane, sum);
    }
    // The lanes hold only the low 32 bits of the document number.
    const auto last = static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm512_castsi512_si128(base)));
    document += static_cast<std::uint32_t>(last - static_cast<std::uint32_t>(document));
    bytes += used;
    documents += postings;
    frequencies += postings;
    count -= postings;
  }
  return bytes;
}
