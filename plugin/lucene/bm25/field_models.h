#pragma once

#include <IndexReader.h>

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugin/lucene/bm25/field_model.h"
#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/field_lengths.h"
#include "relucent/config.h"

namespace relucent::bm25 {

/// The models of the fields that queries use, each built at the field's first use. Lengths counted from the postings
/// are also saved in a sidecar file, but only for fields named in the configuration, so that untrusted queries cannot
/// fill the disk; those of the fields of our own index are recorded in it. Thread-safe.
class FieldModels {
 public:
  /// The maximum number of other fields in memory, with one byte per document each. The least recently used field is
  /// dropped first, and recounted at its next use.
  static constexpr std::size_t kOtherFields = 8;

  struct Index {
    Lucene::IndexReaderPtr reader;
    std::vector<Lucene::IndexReaderPtr> leaves;
    std::string folder;              ///< empty if the reader does not read a folder
    std::optional<CommitData> ours;  ///< set if it describes the reader's segments
  };
  /// @param configured  the fields named in the configuration
  FieldModels(Index index, std::set<Lucene::String> configured, const ScoringSettings& settings);

  /// Throws Error `invalid_data` if the postings are damaged. Fields that are not indexed share one empty model.
  std::shared_ptr<const FieldModel> model(const Lucene::String& field);
  /// The same with the totals of a collection of which the index is a part. The last one per field is kept.
  std::shared_ptr<const FieldModel> model(const Lucene::String& field, const FieldStatistics& totals);

 private:
  /// The first thread that needs the model builds it, without blocking threads that need other fields.
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const FieldModel> model;
    std::shared_ptr<const FieldModel> of_collection;  ///< null until it is asked for
  };
  std::shared_ptr<Entry> entry(const Lucene::String& field);
  std::shared_ptr<const FieldModel> make(const Lucene::String& field) const;
  std::optional<FieldStatistics> recorded_totals(const std::string& field) const;
  std::shared_ptr<const FieldModel> without_lengths(const FieldStatistics& statistics) const;
  FieldLengths lengths_of(const Lucene::String& field) const;
  bool fits(const FieldLengths& lengths) const;

  const Index index_;
  const ScoringSettings settings_;
  std::set<Lucene::String> indexed_, configured_;
  const std::shared_ptr<const FieldModel> absent_;
  std::mutex mutex_;
  std::map<Lucene::String, std::shared_ptr<Entry>> entries_;
  std::list<Lucene::String> others_;  ///< not in the configuration; the most recently used first
};

}  // namespace relucent::bm25
