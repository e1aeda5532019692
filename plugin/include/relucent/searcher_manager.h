#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexSearcher.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescorer.h"

namespace relucent {
// NOLINTBEGIN(readability-identifier-naming): in the style of Lucene++, whose users call this

/// A searcher of a SearcherManager, and what it was made with. Cheap to copy. As long as a copy exists, the index's
/// files, the embeddings and graphs next to it and the model stay open; nobody has to close them.
struct ManagedSearcher {
  Lucene::IndexSearcherPtr searcher;         ///< as openSearcher() returns it
  std::shared_ptr<const Rescorer> rescorer;  ///< null with [rescorer] enabled = false
  std::shared_ptr<const Config> config;
  std::string commit;        ///< the commit that it searches: segments_N
  std::uint64_t number = 0;  ///< from 1: rises with each searcher that the manager puts in place
};

/// Keeps a searcher of an index current, as Apache Lucene's SearcherManager: after a commit, maybeRefresh() opens a new
/// one that shares the model, the tokenizer, the device and its cache of scores with the old one, and the readers of
/// unchanged segments. Searches under way finish on the searcher that they acquired. Which searcher answers changes no
/// bit of an answer about the same commit. Thread-safe.
class RELUCENT_API SearcherManager {
 public:
  /// As openSearcher(). Throws what it throws.
  SearcherManager(const std::filesystem::path& index, const Config& config);
  /// The same, for a second index with the same model: scorers whose settings and files of the model are those of
  /// `other`'s are shared with it, with their cache of scores.
  SearcherManager(const std::filesystem::path& index, const Config& config, const SearcherManager& other);
  /// The same with rescorer->config(), for several managers that share a model, or with scorers or a rule of the
  /// host's.
  SearcherManager(const std::filesystem::path& index, std::shared_ptr<const Rescorer> rescorer);
  ~SearcherManager();

  /// The current searcher. Never waits for a refresh. Acquire one per request, and keep it until the hits' stored
  /// fields have been read: document numbers belong to this searcher.
  ManagedSearcher acquire() const;

  /// Puts a searcher of the newest commit in place, and returns true, if the index has one that is newer than
  /// acquire()'s. Without one it only reads the list of commits, so it may be called before each request or every few
  /// seconds. If another thread is refreshing, or a writer has not finished its commit, returns false immediately.
  /// Throws Error, which states why the searcher stays what it was: the newer commit is damaged or lacks a text field,
  /// embeddings or graphs; the next call tries again.
  bool maybeRefresh();
  /// The same, but waits for a refresh or a reload that is under way.
  bool maybeRefreshBlocking();

  /// Puts a searcher with other settings and of the newest commit in place. Rereads everything, also the records next
  /// to an unchanged index, except for scorers whose settings and files of the model are the same: they are shared. The
  /// new Rescorer is a plain one. The index stays that of the constructor, or is [index] path if that was empty. Waits
  /// for a refresh that is under way. Throws Error as openSearcher(); the searcher then stays what it was.
  void reload(const Config& config);
  /// The same, but scorers are also shared with `other`.
  void reload(const Config& config, const SearcherManager& other);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
