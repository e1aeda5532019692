#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/index_format/records/segment_records.h"
#include "relucent/error.h"
#include "relucent/scorer.h"

/// The embeddings of an index's documents: a kind of record next to it. Uses no Lucene++ types.
namespace relucent {

inline constexpr RecordsKind kEmbeddings{"embeddings", "relucent encode --index DIR --model DIR"};

/// How numbers are stored; int8: with one scale per row.
enum class EmbeddingNumbers { fp32, fp16, int8 };
std::string_view to_string(EmbeddingNumbers numbers) noexcept;
/// Throws Error `usage`.
EmbeddingNumbers embedding_numbers(std::string_view name);

/// What made an index's embeddings, and how they are stored.
struct EmbeddingForm {
  EmbeddingShape shape;
  EmbeddingNumbers numbers = EmbeddingNumbers::fp16;
  std::vector<std::string> fields;  ///< stored fields whose texts were encoded

  std::size_t bytes() const;  ///< of a document's embedding as stored

  friend bool operator==(const EmbeddingForm&, const EmbeddingForm&) = default;
};

RecordsHeader header_of(const SegmentIdentity& segment, const EmbeddingForm& form);
/// Throws Error `invalid_data` naming the file if its header does not describe embeddings.
EmbeddingForm form_of(const SegmentRecords& records);

/// Appends an embedding [rows][hidden] as stored. Throws Error `invalid_data` for numbers that are not finite or too
/// large for fp16.
void store_embedding(const EmbeddingForm& form, std::span<const float> embedding, std::string& bytes);
/// The inverse, as exactly as the numbers allow; fp32 gives the same bits back. `bytes` must have form.bytes() bytes.
void load_embedding(const EmbeddingForm& form, std::string_view bytes, std::span<float> embedding) noexcept;

/// The embeddings of all segments of an index, as one state of it was opened. Thread-safe.
class StoredEmbeddings {
 public:
  /// For an index that cannot have any.
  explicit StoredEmbeddings(Error problem) : problem_(std::move(problem)) {}
  /// Opens the segments' files, in document order. Never throws for a file that is missing, damaged or made by another
  /// model or of other fields; problem() names it.
  StoredEmbeddings(const std::filesystem::path& index, const std::vector<SegmentIdentity>& segments,
                   const EmbeddingShape& shape, const std::vector<std::string>& fields);

  /// The first segment's problem; nullopt if every segment has its embeddings.
  const std::optional<Error>& problem() const noexcept { return problem_; }

  enum class Row { stored, no_text };
  /// Writes a document's embedding [rows][hidden] unless it has no text. `document` counts within the index. Throws
  /// Error if the document has no stored embedding, or a damaged one.
  Row read(std::int32_t document, std::span<float> embedding) const;

 private:
  struct Segment {
    std::int32_t end = 0;  ///< the number after its last document's
    std::shared_ptr<const SegmentRecords> records;
    std::optional<EmbeddingForm> form;
    std::optional<Error> problem;
  };
  std::vector<Segment> segments_;
  std::optional<Error> problem_;
};

}  // namespace relucent
