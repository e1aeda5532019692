#include "plugin/lucene/search/searched_index.h"

#include "plugin/lucene/index/commit_data.h"
#include "relucent/error.h"

namespace relucent {

SearchedIndex::SearchedIndex(const Lucene::IndexReaderPtr& reader, const Config& config, const Log& log,
                             LoggedOnce& logged_once)
    : InputIndex(config.index, config.first_stage),
      reader_(reader),
      one_index_(reader != nullptr),
      has_documents_(!reader || reader->maxDoc() > 0),
      log_(log),
      logged_once_(logged_once) {}

std::uint64_t SearchedIndex::tokenizer() const { return one_index_ ? tokenizer_of_token_ids(reader()) : 0; }

void SearchedIndex::warn(const std::string& message) const {
  if (logged_once_.first_time(message)) log_.warning(message + " (logged once)");
}

Lucene::IndexReaderPtr SearchedIndex::reader() const {
  if (const Lucene::IndexReaderPtr reader = reader_.lock()) return reader;
  throw Error(ErrorKind::usage, "searched index", "its reader is gone", "keep it as long as the searcher");
}

const SearchedIndex::Segments& SearchedIndex::opened() const {
  std::call_once(segments_read_, [this] {
    if (!one_index_) return;
    const IndexSegments index = index_segments(reader());
    segments_ = {index.folder, identities_of(index)};
  });
  return segments_;
}

const IndexStatistics& SearchedIndex::statistics() const {
  std::call_once(statistics_read_, [this] { statistics_.emplace(reader(), fields(), first_stage()); });
  return *statistics_;
}

}  // namespace relucent
