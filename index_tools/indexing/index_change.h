#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relucent/index_builder.h"

namespace relucent::index_tools {

/// Replaces and removes documents of a finished index by their ids. Holds the index's lock. However it ends, the index
/// is sound, and each document is as it was before or after one of its commits. One thread at a time.
class IndexChange {
 public:
  /// What commits have done so far, and how many documents the index has now.
  struct Counts {
    std::int64_t documents = 0;  ///< in the index, without deleted ones
    std::int64_t removed = 0;    ///< replaced ones included
    std::int64_t unknown_ids = 0;
    IndexBuilder::Removals last;  ///< of the last commit
  };

  /// @param options  fields and analyzer are taken from the index, unless they name a language, which then must be the
  ///                 index's
  /// Throws Error: see IndexBuilder::open(); `usage` if the index's first run is unfinished.
  IndexChange(const std::filesystem::path& index, IndexBuilder::Options options);

  /// Replaces all documents with this id, or adds the document if there is none.
  /// @param metadata  see IndexBuilder::add()
  void put(std::string_view id, std::string_view text, std::string_view metadata);
  /// Throws Error: see IndexBuilder::remove().
  void remove(std::string_view id);
  /// Makes it all durable and visible, in one step.
  void commit();
  /// Commits, finishes merges and writes the manifest.
  void close();

  const Counts& counts() const { return counts_; }
  /// Why a damaged newer commit was skipped; empty if none was.
  std::string recovered() const { return recovered_; }
  IndexBuilder::Totals totals() const { return totals_; }

 private:
  std::filesystem::path index_;
  std::unique_ptr<IndexBuilder> builder_;
  std::map<std::string, std::string> user_data_;
  bool own_ = false;  ///< `relucent index` wrote it, so it has a manifest
  bool pending_ = false;
  Counts counts_;
  IndexBuilder::Totals totals_;
  std::string recovered_;
};

}  // namespace relucent::index_tools
