#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugin/lucene/graphs/index_statistics.h"
#include "plugin/lucene/index/segment_identities.h"
#include "plugin/lucene/log.h"
#include "plugin/lucene/search/logged_once.h"
#include "relucent/candidate_inputs.h"

namespace relucent {

/// The index that a searcher searches, for the inputs of its documents. Does not keep the reader, which must live as
/// long as it is asked. Thread-safe.
class SearchedIndex final : public InputIndex {
 public:
  /// @param reader  null for a searcher that is not over one index
  /// @param log, logged_once  must outlive this object
  SearchedIndex(const Lucene::IndexReaderPtr& reader, const Config& config, const Log& log, LoggedOnce& logged_once);

  bool has_candidates() const override { return has_documents_; }
  std::filesystem::path folder() const override { return opened().folder; }
  std::vector<SegmentIdentity> segments() const override { return opened().identities; }
  std::uint64_t tokenizer() const override;
  bool has_terms() const override { return one_index_; }
  std::uint64_t documents() const override { return statistics().documents(); }
  std::uint64_t frequency(std::string_view term) const override { return statistics().frequency(term); }
  std::vector<IndexTerm> terms_of(std::string_view text) const override { return statistics().terms_of(text); }
  void warn(const std::string& message) const override;

 private:
  /// Without the segments' readers, which must not outlive the index's.
  struct Segments {
    std::filesystem::path folder;
    std::vector<SegmentIdentity> identities;
  };

  Lucene::IndexReaderPtr reader() const;
  const Segments& opened() const;
  const IndexStatistics& statistics() const;

  boost::weak_ptr<Lucene::IndexReader> reader_;
  const bool one_index_, has_documents_;
  const Log& log_;
  LoggedOnce& logged_once_;
  mutable std::once_flag segments_read_, statistics_read_;
  mutable Segments segments_;
  mutable std::optional<IndexStatistics> statistics_;
};

}  // namespace relucent
