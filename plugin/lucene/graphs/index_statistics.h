#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <cstdint>
#include <functional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/graphs/build_graph.h"
#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent {

/// The documents of an index and the frequencies of its terms. Deleted documents count until a merge drops them, as in
/// BM25. The reader must live as long as it is asked; the object does not keep it. Thread-safe.
class IndexStatistics {
 public:
  /// Throws what BM25Searcher throws.
  IndexStatistics(const Lucene::IndexReaderPtr& reader, const IndexConfig& fields, const FirstStageConfig& first_stage);

  std::uint64_t documents() const noexcept { return documents_; }  ///< with at least one term
  /// How many documents have the term.
  std::uint64_t frequency(std::string_view term) const;
  /// Refers to this object.
  TermStatistics terms() const;

  /// A hash of documents() and of every term with its frequency. Reads the whole dictionary; throws Error when `stop`
  /// is due. Calls `progress` with the number of terms read now and then.
  std::uint64_t hash(const StopSignal& stop, const std::function<void(std::int64_t)>& progress = {}) const;

 private:
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  Lucene::IndexReaderPtr reader() const;

  boost::weak_ptr<Lucene::IndexReader> reader_;
  Lucene::String field_;
  std::uint64_t documents_ = 0;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<std::string, std::uint64_t, TextHash, std::equal_to<>> known_;  // the first ones asked for
};

}  // namespace relucent
