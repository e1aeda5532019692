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

#include "plugin/index_format/records/index_records.h"
#include "relucent/embedding_numbers.h"
#include "relucent/error.h"
#include "relucent/scorer.h"

/// The embeddings of an index's documents: a kind of record next to it. Uses no Lucene++ types.
namespace relucent {

inline constexpr RecordsKind kEmbeddings{"embeddings", "relucent encode --index DIR --model DIR"};

/// What made an index's embeddings, and how they are stored.
struct EmbeddingForm {
  EmbeddingShape shape;
  EmbeddingNumbers numbers = EmbeddingNumbers::fp16;
  std::vector<std::string> fields;  ///< stored fields whose texts were encoded

  std::size_t bytes() const;  ///< of a document's embedding as stored; 0: they vary

  friend bool operator==(const EmbeddingForm&, const EmbeddingForm&) = default;
};

RecordsHeader header_of(const SegmentIdentity& segment, const EmbeddingForm& form);
/// Throws Error `invalid_data` naming the file if its header does not describe embeddings.
EmbeddingForm form_of(const SegmentRecords& records);

/// Appends an embedding [rows][hidden] as stored. Throws Error `invalid_data` as store_vector() does.
void store_embedding(const EmbeddingForm& form, std::span<const float> embedding, std::string& bytes);

/// The vectors of a candidate's input (EmbeddingKind::stored_vectors()); none if it has no input.
StoredVectors stored_vectors_of(const Candidate& candidate);

/// The embeddings of an index's documents. Thread-safe.
class StoredEmbeddings final : public InputSource {
 public:
  /// Opens the segments' files. Never throws for a file that is missing, damaged or made by another model or of other
  /// fields.
  ///
  /// @param index    receives a warning if documents are encoded during searches
  /// @param missing  whether documents without an embedding are an error or read by their texts
  StoredEmbeddings(std::shared_ptr<const InputIndex> index, const EmbeddingShape& shape, MissingEmbeddings missing);

  /// A document's embedding in the form of EmbeddingKind.
  std::optional<std::string> read(const InputDocument& document, const StopSignal& stop) const override;
  std::optional<Error> problem() const override;
  /// Whether no segment has a file of embeddings.
  bool absent() const;

 private:
  std::shared_ptr<const InputIndex> index_;
  MissingEmbeddings missing_;
  std::optional<IndexRecords> records_;
  std::vector<EmbeddingForm> forms_;  ///< by segment
  std::optional<Error> problem_;      ///< the first segment's
};

}  // namespace relucent
