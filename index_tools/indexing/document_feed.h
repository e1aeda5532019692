#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "index_tools/corpora/corpus_reader.h"
#include "index_tools/indexing/id_set.h"
#include "index_tools/indexing/progress_record.h"

namespace relucent::index_tools {

/// The documents of a corpus that go into the index, with the duplicate policy applied. A resumed run skips the
/// documents that are already indexed. One thread at a time.
class DocumentFeed {
 public:
  /// @param pass_over    number of leading documents to skip because they are already indexed
  /// @param interrupted  called for every skipped document; may be empty
  DocumentFeed(CorpusReader& reader, Duplicates duplicates, std::int64_t pass_over, std::function<bool()> interrupted);

  /// False at the end. Throws Error: see CorpusReader; `invalid_data` for a duplicate id under Duplicates::error;
  /// `interrupted` while skipping.
  bool next(Document& document);
  std::int64_t duplicates() const { return duplicates_; }
  /// The first few, as "id (file:line)".
  const std::vector<std::string>& duplicate_examples() const { return duplicate_examples_; }
  /// How many files the reader had skipped before the first document that next() returned.
  std::int64_t skipped_while_passing_over() const { return skipped_while_passing_over_; }
  /// How many documents of pass_over are still missing from the input.
  std::int64_t still_to_pass_over() const { return pass_over_; }

 private:
  bool next_distinct(Document& document);

  CorpusReader& reader_;
  Duplicates policy_;
  std::int64_t pass_over_;
  std::function<bool()> interrupted_;
  IdSet ids_;
  std::int64_t duplicates_ = 0, skipped_while_passing_over_ = 0;
  std::vector<std::string> duplicate_examples_;
};

}  // namespace relucent::index_tools
