#pragma once

#include <cstddef>
#include <cstdint>

namespace relucent::bm25 {

/// The hot loops of searching postings, once per instruction set; all give the same results.
struct PostingKernels {
  const char* name;

  /// Decodes `count` postings of a .frq file: the distance from the document before, doubled, plus one where the term
  /// occurs once; else the frequency follows. Numbers have seven bits per byte, lowest first, and at most five bytes.
  /// @param bytes may be read up to kReadAhead behind the postings
  /// @param document the document before; becomes the last one
  /// @param documents, frequencies  [count], and may be written up to kWriteAhead behind
  /// @return behind the last byte of the postings
  const std::uint8_t* (*decode)(const std::uint8_t* bytes, std::int32_t count, std::int64_t& document,
                                std::int32_t* documents, std::int32_t* frequencies);
  static constexpr std::size_t kReadAhead = 128, kWriteAhead = 64;

  /// Finds the sums above `limit` (not negative), and makes the sums zero again.
  /// @param sums [size, a multiple of 64], aligned to 64 bytes; zero where `seen` is
  /// @param seen [size], 0 or 1
  /// @param places, found  [size], the places in `sums` in order, and what stood there; may be written up to
  /// kWriteAhead behind
  /// @return how many were found
  std::size_t (*take_above)(double* sums, const std::uint8_t* seen, std::size_t size, double limit,
                            std::int32_t* places, double* found);

  /// How many are 1; makes all zero. @param seen [size, a multiple of 64], each 0 or 1
  std::size_t (*count_seen)(std::uint8_t* seen, std::size_t size);
};

/// Those that this processor runs, the fastest last.
struct PostingLevels {
  const PostingKernels* levels[2];
  std::size_t count;
};
PostingLevels available_posting_kernels();
const PostingKernels& best_posting_kernels();

namespace plain {
extern const PostingKernels posting_kernels;
}
namespace avx512 {
extern const PostingKernels posting_kernels;
}

}  // namespace relucent::bm25
