#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// Writes an index of Relucent's schema (stored id and text, analyzed contents, modern length bytes). No Lucene++ type
/// in it. Called by one thread at a time; the work is done by several of its own, and the result does not depend on
/// their number: the same documents in the same order, the same statistics, the same scores.
class RELUCENT_API IndexBuilder {
 public:
  enum class Mode {
    create,     ///< the folder must not hold an index
    overwrite,  ///< an index that is there is replaced
    append,     ///< continue after the last commit
  };

  struct Options {
    IndexConfig fields;
    FirstStageConfig first_stage;
    /// About so much memory for documents that are not written yet and for the threads' own tables, 5 MiB each.
    double buffer_mb = 256;
    /// 1: none of its own, each call does its work itself; 0: one per core that the process may use; at most
    /// kMaxThreads (1,024). At most 32 are started, and fewer where the system has no more: what they write is the
    /// same.
    int threads = 1;
    /// A checkpoint's folder: the token ids that its tokenizer makes of each text are stored, too, as many as the model
    /// has positions, so that a search with a model of the same tokenizer need not make them. Empty: none are.
    std::filesystem::path token_ids_of;
  };

  /// What the last commit says.
  struct Totals {
    std::int64_t documents = 0;
    std::int64_t documents_with_tokens = 0;
    std::int64_t tokens = 0;
  };

  /// Throws Error: `io` for a folder that cannot be written, is locked by a living process or is full; `usage` where
  /// the mode does not fit what is there; `invalid_data` for an index that is damaged or not ours.
  static std::unique_ptr<IndexBuilder> open(const std::filesystem::path& folder, Mode mode, const Options& options);

  /// Not closed: what was added since the last commit is dropped, merges are broken off, the lock is released.
  virtual ~IndexBuilder() = default;

  /// Bytes that are not UTF-8 are stored and indexed as U+FFFD. What goes wrong with a document may come out of a later
  /// call; after an Error only what was committed counts.
  virtual void add(std::string_view id, std::string_view text) = 0;
  /// Makes everything added so far durable, and `user_data` with it, in one atomic step: on the disk when it returns.
  virtual void commit(const std::map<std::string, std::string>& user_data) = 0;
  /// The user data of the last commit, without the builder's own keys.
  virtual std::map<std::string, std::string> committed() const = 0;
  virtual Totals totals() const = 0;
  /// In append mode: what was wrong with a newer commit, so that open() had to go back to the one before; empty
  /// otherwise.
  virtual std::string recovered() const = 0;
  /// Merges to at most `segments` segments; the order of documents stays.
  virtual void merge(int segments) = 0;
  /// Commits what is not committed yet, finishes merges and closes.
  virtual void close() = 0;
};

}  // namespace relucent
