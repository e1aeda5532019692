#include "plugin/lucene/index/removed_documents.h"

#include <Term.h>
#include <TermDocs.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/utf8.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

constexpr std::size_t kMaxIdCharacters = 16383;  // longer ones are stored, but not indexed

struct Removal {
  const std::string* id;
  std::int64_t end;  ///< one past the last document that it concerns, in the numbering of the whole index
  bool found = false;
};

/// Returns how many documents it deletes.
std::int64_t remove_from(segment::Segment& segment, std::int64_t first, std::vector<Removal>& removals,
                         const std::string& id_field, const Lucene::IndexReaderPtr& terms) {
  const auto deletions = segment.deletions ? std::make_shared<segment::Deletions>(*segment.deletions)
                                           : std::make_shared<segment::Deletions>(segment.documents);
  const Lucene::String field = to_lucene(id_field);
  const Lucene::TermDocsPtr documents = terms->termDocs();
  std::int64_t deleted = 0;
  for (Removal& removal : removals) {
    documents->seek(Lucene::newLucene<Lucene::Term>(field, to_lucene(*removal.id)));
    while (documents->next()) {
      if (first + documents->doc() >= removal.end || !deletions->insert(documents->doc())) continue;
      removal.found = true;
      ++deleted;
    }
  }
  documents->close();
  if (deleted > 0) segment.deletions = deletions;
  return deleted;
}

}  // namespace

void check_removable(std::string_view id, const std::vector<segment::Segment>& segments,
                     const std::filesystem::path& folder) {
  if (id.empty()) throw Error(ErrorKind::usage, folder.string(), "an empty id names no document", "pass an id");
  if (id.size() > kMaxIdCharacters && count_code_points(id) > kMaxIdCharacters) {
    throw Error(ErrorKind::invalid_data, fmt::format("document \"{}...\"", utf8_prefix(id, 100)),
                fmt::format("its id has more than {} characters, so it is not indexed", kMaxIdCharacters),
                "use shorter ids, and rebuild the index");
  }
  for (const segment::Segment& segment : segments) {
    if (!segment.files.empty()) continue;
    throw Error(ErrorKind::unsupported, folder.string(),
                fmt::format("another program has written the segment {}, so documents cannot be removed", segment.name),
                "remove them with that program, or rebuild the index with `relucent index`");
  }
}

void RemovedDocuments::begin() {
  added_ = 0;
  before_.clear();
}

IndexBuilder::Removals RemovedDocuments::apply(const std::vector<segment::Segment*>& segments,
                                               const std::string& id_field, const OpenTerms& open) const {
  std::int64_t documents = 0;
  for (const segment::Segment* segment : segments) documents += segment->documents;
  const std::int64_t first_added = documents - added_;
  std::vector<Removal> removals;
  removals.reserve(before_.size());
  for (const auto& [id, added_before] : before_) removals.push_back({&id, first_added + added_before});
  // In the order of the dictionary, which is then read from front to back.
  std::ranges::sort(removals, {}, [](const Removal& removal) { return std::string_view(*removal.id); });

  IndexBuilder::Removals result;
  std::int64_t first = 0;
  for (segment::Segment* segment : segments) {
    const Lucene::IndexReaderPtr terms = open(*segment);
    result.documents += remove_from(*segment, first, removals, id_field, terms);
    terms->close();
    first += segment->documents;
  }
  for (const Removal& removal : removals) {
    if (removal.found) continue;
    ++result.unknown_ids;
    if (result.unknown.size() < IndexBuilder::Removals::kMaxUnknown) result.unknown.push_back(*removal.id);
  }
  return result;
}

}  // namespace relucent
