#pragma once

#include <cstddef>
#include <cstdint>

namespace relucent::bm25 {

/// The hot loops of a search, compiled once per instruction set. All versions give the same results.
struct PostingKernels {
  const char* name;

  /// The share of a segment's ranges of documents from which on reading all postings is faster than visiting these
  /// ranges one by one (skipping_disjunction.h).
  double most_live;

  /// Decodes `count` postings of a .frq file. Each begins with a code: twice the distance from the previous document,
  /// plus one if the frequency is 1. Otherwise the frequency follows the code. Numbers have seven bits per byte, lowest
  /// first, and at most five bytes.
  /// @param bytes                   may be read up to kReadAhead bytes past the postings
  /// @param document                the previous document; set to the last one decoded
  /// @param documents, frequencies  [count]; up to kWriteAhead further elements may be overwritten
  /// @return one past the last byte of the postings
  const std::uint8_t* (*decode)(const std::uint8_t* bytes, std::int32_t count, std::int64_t& document,
                                std::int32_t* documents, std::int32_t* frequencies);
  static constexpr std::size_t kReadAhead = 128, kWriteAhead = 64;

  /// Counts the elements of `marks` that are not zero and resets all to zero. @param marks  [size, a multiple of 64]
  std::size_t (*count_marks)(std::uint8_t* marks, std::size_t size);

  /// sums[i] = Σ by[list] · factors[list][i]. @param sums  [size]; they stay below 2^16. @param by  [lists]
  /// @param factors  [lists], each [size]
  void (*sum_products)(std::uint16_t* sums, std::size_t size, const std::uint8_t* const* factors,
                       const std::uint16_t* by, std::size_t lists);
  /// Writes every i whose sums[i] is above the limit, ascending. @param sums  [size, at most 2^16]
  /// @param places  [size]; kWriteAhead further elements may be overwritten
  /// @return        how many
  std::size_t (*find_above)(const std::uint16_t* sums, std::size_t size, std::uint16_t limit, std::uint16_t* places);
};

/// The versions that this processor supports, the fastest last.
struct PostingLevels {
  const PostingKernels* levels[2];
  std::size_t count;
};
PostingLevels available_posting_kernels();
const PostingKernels& best_posting_kernels();

namespace plain {
extern const PostingKernels kPostingKernels;
}
namespace avx512 {
extern const PostingKernels kPostingKernels;
}

}  // namespace relucent::bm25
