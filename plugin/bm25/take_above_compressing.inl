// Finds sums above a limit with AVX-512; part of posting_kernels.inl.

std::size_t take_above(double* sums, const std::uint8_t* seen, std::size_t size, double limit, std::int32_t* places,
                       double* found) {
  const __m512d limits = _mm512_set1_pd(limit);
  const __m256i eight_places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::size_t count = 0;
  for (std::size_t group = 0; group < size; group += 64) {
    const __m512i marks = _mm512_loadu_si512(seen + group);
    if (_mm512_test_epi8_mask(marks, marks) == 0) continue;
    for (std::size_t eight = group; eight < group + 64; eight += 8) {
      const __m512d values = _mm512_load_pd(sums + eight);
      const __mmask8 above = _mm512_cmp_pd_mask(values, limits, _CMP_GT_OQ);
      // Compress in a register: compressing to memory is slow on some processors.
      _mm512_storeu_pd(found + count, _mm512_maskz_compress_pd(above, values));
      const __m256i here = _mm256_add_epi32(eight_places, _mm256_set1_epi32(static_cast<int>(eight)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + count), _mm256_maskz_compress_epi32(above, here));
      count += static_cast<std::size_t>(__builtin_popcount(above));
      _mm512_store_pd(sums + eight, _mm512_setzero_pd());
    }
  }
  return count;
}
