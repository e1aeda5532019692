#include "index_tools/indexing/document_feed.h"

#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kExamples = 5;
constexpr std::size_t kBatchBytes = 512 * 1024;
constexpr std::size_t kBatchDocuments = 1000;
constexpr std::size_t kBatchesAhead = 4;

}  // namespace

DocumentFeed::DocumentFeed(CorpusReader& reader, Duplicates duplicates, std::int64_t pass_over,
                           std::function<bool()> interrupted)
    : reader_(reader), policy_(duplicates), pass_over_(pass_over), interrupted_(std::move(interrupted)) {}

bool DocumentFeed::next(Document& document) {
  for (; pass_over_ > 0; --pass_over_) {
    if (interrupted_ && interrupted_()) {
      throw Error(ErrorKind::interrupted, "resuming", "interrupted before anything new was indexed",
                  "run the same command with --resume to go on");
    }
    if (!next_distinct(document)) return false;
  }
  return next_distinct(document);
}

bool DocumentFeed::next_distinct(Document& document) {
  while (reader_.next(document)) {
    if (policy_ == Duplicates::keep || ids_.insert(document.id)) return true;
    const std::string place = reader_.place_of(document);
    if (policy_ == Duplicates::error) {
      throw Error(ErrorKind::invalid_data, place, "the id \"" + document.id + "\" was there before",
                  "make ids unique, or choose --duplicates skip-later or keep");
    }
    ++duplicates_;
    if (duplicate_examples_.size() < kExamples) duplicate_examples_.push_back(document.id + " (" + place + ")");
  }
  return false;
}

FeedThread::FeedThread(DocumentFeed& feed) : feed_(feed), thread_([this] { run(); }) {}

FeedThread::~FeedThread() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool FeedThread::next(Batch& batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || finished_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }
  batch = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return true;
}

bool FeedThread::hand_over(Batch& batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_.size() < kBatchesAhead || stopped_; });
  if (stopped_) return false;
  if (!batch.empty()) ready_.push_back(std::move(batch));
  batch = {};
  changed_.notify_all();
  return true;
}

void FeedThread::run() {
  Batch batch;
  std::exception_ptr failure;
  try {
    std::size_t bytes = 0;
    for (Document document; feed_.next(document);) {
      bytes += document.id.size() + document.text.size();
      batch.push_back(std::move(document));
      if (bytes < kBatchBytes && batch.size() < kBatchDocuments) continue;
      if (!hand_over(batch)) return;
      bytes = 0;
    }
  } catch (...) {
    failure = std::current_exception();
  }
  hand_over(batch);
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  finished_ = true;
  changed_.notify_all();
}

}  // namespace relucent::index_tools
