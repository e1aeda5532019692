#include "plugin/lucene/graphs/index_statistics.h"

#include <Term.h>
#include <TermEnum.h>

#include <mutex>
#include <utility>

#include "base/checksum.h"
#include "plugin/lucene/analysis/analyzer_places.h"
#include "plugin/lucene/errors.h"
#include "relucent/bm25.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

constexpr std::size_t kMostKnown = 1 << 20;

void add_number(Checksum& sum, std::uint64_t number) {
  sum.add({reinterpret_cast<const char*>(&number), sizeof number});
}

}  // namespace

IndexStatistics::IndexStatistics(const Lucene::IndexReaderPtr& reader, const IndexConfig& fields,
                                 const FirstStageConfig& first_stage)
    : InputIndex(fields, first_stage), reader_(reader), field_(to_lucene(fields.contents_field)) {
  const auto searcher = Lucene::newLucene<BM25Searcher>(reader, first_stage, fields);
  documents_ = static_cast<std::uint64_t>(searcher->statistics().document_count);
}

Lucene::IndexReaderPtr IndexStatistics::reader() const {
  if (const Lucene::IndexReaderPtr reader = reader_.lock()) return reader;
  throw Error(ErrorKind::usage, "statistics", "the index's reader is gone", "keep it as long as the statistics");
}

std::uint64_t IndexStatistics::frequency(std::string_view term) const {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = known_.find(term); found != known_.end()) return found->second;
  }
  const auto frequency = with_errors("statistics", "looking up a term", [&] {
    return static_cast<std::uint64_t>(reader()->docFreq(Lucene::newLucene<Lucene::Term>(field_, to_lucene(term))));
  });
  const std::unique_lock lock(mutex_);
  if (known_.size() < kMostKnown) known_.try_emplace(std::string(term), frequency);
  return frequency;
}

std::vector<IndexTerm> IndexStatistics::terms_of(std::string_view text) const {
  return with_errors("statistics", "analyzing a text", [&] {
    std::vector<IndexTerm> terms;
    for (TermPlace& term : term_places(first_stage(), text)) {
      terms.push_back({std::move(term.term), term.place.begin, term.place.end});
    }
    return terms;
  });
}

std::uint64_t IndexStatistics::hash(const StopSignal& stop, const std::function<void(std::int64_t)>& progress) const {
  Checksum sum;
  add_number(sum, documents_);
  const Lucene::TermEnumPtr terms = reader()->terms(Lucene::newLucene<Lucene::Term>(field_, Lucene::String()));
  std::int64_t seen = 0;
  do {
    const Lucene::TermPtr term = terms->term();
    if (!term || term->field() != field_) break;
    if ((++seen & 0xFFF) == 0) {
      stop.throw_if_due("reading the dictionary");
      if (progress) progress(seen);
    }
    const std::string text = to_utf8(term->text());
    add_number(sum, text.size());
    sum.add(text);
    add_number(sum, static_cast<std::uint64_t>(terms->docFreq()));
  } while (terms->next());
  return sum.value();
}

std::shared_ptr<const IndexStatistics> open_statistics(const std::filesystem::path& index, const Config& config) {
  return with_errors(index.string(), "reading the index's statistics", [&] {
    struct Opened {
      Lucene::IndexReaderPtr reader;
      IndexStatistics statistics;
    };
    const Lucene::IndexReaderPtr reader = open_reader(index, config.index.verify);
    const Config own = config_of_index(reader, config);
    const auto opened = std::shared_ptr<const Opened>(new Opened{reader, {reader, own.index, own.first_stage}});
    return std::shared_ptr<const IndexStatistics>(opened, &opened->statistics);
  });
}

}  // namespace relucent
