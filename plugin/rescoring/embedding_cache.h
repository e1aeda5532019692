#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/index/records/embeddings.h"
#include "relucent/scorer.h"

namespace relucent {

/// The stored embeddings of the indexes that a rescorer searches, opened once per reader. Thread-safe.
class EmbeddingCache {
 public:
  /// Never null. Throws whatever index_segments() throws.
  std::shared_ptr<const StoredEmbeddings> of(const Lucene::IndexReaderPtr& reader, const EmbeddingShape& shape,
                                             const std::vector<std::string>& fields) const;

 private:
  struct Entry {
    boost::weak_ptr<Lucene::IndexReader> reader;
    EmbeddingShape shape;
    std::shared_ptr<const StoredEmbeddings> embeddings;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Entry> entries_;
};

}  // namespace relucent
