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

#include "plugin/bm25/field_lengths.h"
#include "plugin/bm25/field_model.h"
#include "plugin/index/commit_data.h"
#include "relucent/config.h"

namespace relucent::bm25 {

/// The numbers of each field that queries name, found at the field's first use and kept. Lengths counted from the
/// postings are also kept in a sidecar file, but only those of the fields that the configuration names, because a
/// query, which anybody may type, must not fill a disk. Thread-safe.
class FieldModels {
 public:
  /// How many fields that the configuration does not name are kept in memory, a byte per document each; the one that
  /// was not used for longest goes first and is counted again at its next use.
  static constexpr std::size_t kOtherFields = 8;

  struct Index {
    Lucene::IndexReaderPtr reader;
    std::vector<Lucene::IndexReaderPtr> leaves;
    std::string folder;              ///< empty where the reader is not of a folder
    std::optional<CommitData> ours;  ///< while it describes the reader's segments
  };
  FieldModels(Index index, const IndexConfig& fields, float k1, float b);

  /// Throws Error `invalid_data` where the postings are damaged. A field that the index lacks costs nothing.
  std::shared_ptr<const FieldModel> model(const Lucene::String& field);

 private:
  /// Made by the first thread that needs it, while threads that need another field go on.
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const FieldModel> model;
  };
  std::shared_ptr<Entry> entry(const Lucene::String& field);
  std::shared_ptr<const FieldModel> make(const Lucene::String& field) const;
  std::shared_ptr<const FieldModel> without_lengths(const FieldStatistics& statistics) const;
  FieldLengths lengths_of(const Lucene::String& field) const;
  bool fits(const FieldLengths& lengths) const;

  const Index index_;
  const float k1_, b_;
  std::set<Lucene::String> indexed_, configured_;
  const std::shared_ptr<const FieldModel> absent_;
  std::mutex mutex_;
  std::map<Lucene::String, std::shared_ptr<Entry>> entries_;
  std::list<Lucene::String> others_;  ///< not configured, the latest used first
};

}  // namespace relucent::bm25
