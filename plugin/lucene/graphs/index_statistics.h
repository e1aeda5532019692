#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "relucent/candidate_inputs.h"
#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent {

/// The documents of an index and the frequencies of its terms, for inputs of texts from elsewhere. Deleted documents
/// count until a merge drops them, as in BM25. Does not keep the reader, which must live as long as it is asked.
/// Thread-safe.
class IndexStatistics final : public InputIndex {
 public:
  /// Throws what BM25Searcher throws.
  IndexStatistics(const Lucene::IndexReaderPtr& reader, const IndexConfig& fields, const FirstStageConfig& first_stage);

  bool has_terms() const override { return true; }
  std::uint64_t documents() const override { return documents_; }
  std::uint64_t frequency(std::string_view term) const override;
  std::vector<IndexTerm> terms_of(std::string_view text) const override;

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

/// The statistics of an index that is opened for them. Throws Error.
std::shared_ptr<const IndexStatistics> open_statistics(const std::filesystem::path& index, const Config& config);

}  // namespace relucent
