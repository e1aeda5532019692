#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "index_tools/indexing/checkpoint.h"
#include "index_tools/indexing/id_set.h"
#include "index_tools/readers/corpus_reader.h"

namespace relucent::index_tools {

/// The documents of a corpus that go into the index: duplicate ids dealt with, the first few passed over where a run is
/// resumed. One thread at a time.
class DocumentFeed {
 public:
  /// @param pass_over    how many of the documents to leave out, as indexed before
  /// @param interrupted  asked for every document passed over; may be empty
  DocumentFeed(CorpusReader& reader, Duplicates duplicates, std::int64_t pass_over, std::function<bool()> interrupted);

  /// False at the end. Throws Error: see CorpusReader; `invalid_data` for a duplicate id where that is the policy;
  /// `interrupted` while passing over.
  bool next(Document& document);
  std::int64_t duplicates() const { return duplicates_; }
  /// The first few, as "id (file:line)".
  const std::vector<std::string>& duplicate_examples() const { return duplicate_examples_; }
  /// How many documents of pass_over the input did not have.
  std::int64_t still_to_pass_over() const { return pass_over_; }

 private:
  bool next_distinct(Document& document);

  CorpusReader& reader_;
  Duplicates policy_;
  std::int64_t pass_over_;
  std::function<bool()> interrupted_;
  IdSet ids_;
  std::int64_t duplicates_ = 0;
  std::vector<std::string> duplicate_examples_;
};

/// Runs a feed ahead on a thread of its own and hands its documents over in the same order. Holds a few megabytes, or a
/// few documents where they are larger.
class FeedThread {
 public:
  using Batch = std::vector<Document>;

  /// `feed` outlives this and is the thread's alone until next() has returned false or thrown.
  explicit FeedThread(DocumentFeed& feed);
  /// Waits for the document that is being read.
  ~FeedThread();

  /// False at the end. Throws what the feed threw, after everything before it was handed over.
  bool next(Batch& batch);

 private:
  void run();
  bool hand_over(Batch& batch);

  DocumentFeed& feed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::exception_ptr failure_;
  bool finished_ = false, stopped_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace relucent::index_tools
