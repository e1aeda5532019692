#pragma once

#include <Lucene.h>

#include <IndexReader.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugin/index_format/segment/segment.h"
#include "relucent/index_builder.h"

namespace relucent {

/// Throws Error, as IndexBuilder::remove() does, for an id that no segment can be asked for.
void check_removable(std::string_view id, const std::vector<segment::Segment>& segments,
                     const std::filesystem::path& folder);

/// The ids to remove in the next commit, each from the documents that were added before it was named.
class RemovedDocuments {
 public:
  using OpenTerms = std::function<Lucene::IndexReaderPtr(const segment::Segment&)>;

  /// Forgets all ids and counts documents from here.
  void begin();
  void count_added() { ++added_; }
  /// @param id  as stored
  void add(const std::string& id) { before_[id] = added_; }
  bool empty() const { return before_.empty(); }

  /// Adds the documents to the deletions of their segments.
  /// @param segments  all of the index in order; the documents added since begin() are the last ones
  IndexBuilder::Removals apply(const std::vector<segment::Segment*>& segments, const std::string& id_field,
                               const OpenTerms& open) const;

 private:
  std::int64_t added_ = 0;
  std::unordered_map<std::string, std::int64_t> before_;  ///< by id: how many documents had been added
};

}  // namespace relucent
