#include "index_tools/indexing/document_feed.h"

#include <fmt/core.h>

#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kExamples = 5;

}  // namespace

DocumentFeed::DocumentFeed(CorpusReader& reader, Duplicates duplicates, std::int64_t pass_over,
                           std::function<bool()> interrupted)
    : reader_(reader), policy_(duplicates), pass_over_(pass_over), interrupted_(std::move(interrupted)) {}

bool DocumentFeed::next(Document& document) {
  for (; pass_over_ > 0; --pass_over_) {
    if (interrupted_ && interrupted_()) {
      throw Error(ErrorKind::interrupted, "resuming", "interrupted before anything new was indexed",
                  "run the same command with --resume to continue");
    }
    if (!next_distinct(document)) return false;
    skipped_while_passing_over_ = reader_.report().skipped_files();
  }
  return next_distinct(document);
}

bool DocumentFeed::next_distinct(Document& document) {
  while (reader_.next(document)) {
    if (policy_ == Duplicates::keep || ids_.insert(document.id)) return true;
    const std::string place = reader_.place_of(document);
    if (policy_ == Duplicates::error) {
      throw Error(ErrorKind::invalid_data, place, fmt::format("duplicate id \"{}\"", document.id),
                  "make ids unique, or choose --duplicates skip-later or keep");
    }
    ++duplicates_;
    if (duplicate_examples_.size() < kExamples)
      duplicate_examples_.push_back(fmt::format("{} ({})", document.id, place));
  }
  return false;
}

}  // namespace relucent::index_tools
