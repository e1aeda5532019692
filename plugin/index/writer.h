#pragma once

#include <IndexWriter.h>

#include <cstdint>
#include <optional>
#include <string>

#include "bm25/similarity.h"

namespace relucent {

/// Lucene++'s IndexWriter, opened up where a commit must know what it is about to commit.
class Writer : public Lucene::IndexWriter {
 public:
  Writer(const Lucene::DirectoryPtr& directory, const Lucene::AnalyzerPtr& analyzer, bool create);

  /// Writes buffered documents as a segment and runs the merges that this calls for, without a commit.
  void flush_segments();
  /// As bm25::segments_identity() will read it from a reader of the commit.
  std::string identity() const;
  /// The last document of the last segment, read from its files; nothing if there is none.
  Lucene::DocumentPtr read_last_document() const;
};

/// BM25Similarity that also counts what it sees of one field.
class CountingSimilarity : public bm25::BM25Similarity {
 public:
  explicit CountingSimilarity(const Lucene::String& field) : field_(field) {}
  double computeNorm(const Lucene::String& field, const Lucene::FieldInvertStatePtr& state) override;

  std::int64_t documents_with_tokens = 0;
  std::int64_t tokens = 0;

 private:
  Lucene::String field_;
};

}  // namespace relucent
