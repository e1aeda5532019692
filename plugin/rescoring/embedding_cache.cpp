#include "plugin/rescoring/embedding_cache.h"

#include "plugin/index/records/segment_identities.h"

namespace relucent {
namespace {

std::shared_ptr<const StoredEmbeddings> open_embeddings(const Lucene::IndexReaderPtr& reader,
                                                        const EmbeddingShape& shape,
                                                        const std::vector<std::string>& fields) {
  const IndexSegments index = reader ? index_segments(reader) : IndexSegments();
  if (index.segments.empty() && (!reader || reader->maxDoc() > 0)) {
    return std::make_shared<const StoredEmbeddings>(
        Error(ErrorKind::unsupported, "second stage", "the searched index has no folder beside which embeddings lie",
              "search an index in a folder"));
  }
  return std::make_shared<const StoredEmbeddings>(index.folder, identities_of(index), shape, fields);
}

}  // namespace

std::shared_ptr<const StoredEmbeddings> EmbeddingCache::of(const Lucene::IndexReaderPtr& reader,
                                                           const EmbeddingShape& shape,
                                                           const std::vector<std::string>& fields) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const Entry& entry) { return entry.reader.expired(); });
  for (const Entry& entry : entries_) {
    if (entry.reader.lock() == reader && entry.shape == shape) return entry.embeddings;
  }
  auto embeddings = open_embeddings(reader, shape, fields);
  if (reader) entries_.push_back({reader, shape, embeddings});
  return embeddings;
}

}  // namespace relucent
