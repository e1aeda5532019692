#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/export.h"

namespace relucent {

/// Writes an index with Relucent's schema (stored id and text, analyzed contents, modern length bytes). Uses no
/// Lucene++ types. Call it from one thread at a time. It works on several threads of its own; the result does not
/// depend on their number: the same documents in the same order, the same statistics, the same scores.
class RELUCENT_API IndexBuilder {
 public:
  enum class Mode {
    create,     ///< the folder must not hold an index
    overwrite,  ///< replace an existing index
    append,     ///< continue after the last commit
  };

  /// What an index contains and how it is written.
  struct Options {
    IndexConfig fields;
    FirstStageConfig first_stage;
    /// Approximate memory for documents not written yet and for the threads' tables, 5 MiB per thread.
    double buffer_mb = 256;
    /// 1: do all work in the calling thread; 0: one thread per core that the process may use; at most kMaxThreads
    /// (1,024). At most 32 are started, or fewer if the system refuses more; the output is the same.
    int threads = 1;
    /// A checkpoint's folder. If set, the builder also stores the token ids of each text, up to the model's number of
    /// positions, so that a search with a model of the same tokenizer need not tokenize. Empty: store none.
    std::filesystem::path token_ids_of;
    /// Whether documents may have metadata. Implied by the fields' keyword_fields, number_fields and analyzed_fields.
    bool metadata = false;
    /// In append mode: take the other settings from the index. Documents can then be removed, but not added.
    bool only_removes = false;
  };

  /// Longer metadata is not stored.
  static constexpr std::size_t kMaxMetadataBytes = std::size_t{64} << 10;

  /// Totals of the last commit.
  struct Totals {
    std::int64_t documents = 0;  ///< including deleted ones that no merge has dropped yet; BM25 counts them
    std::int64_t deleted = 0;    ///< of these
    std::int64_t documents_with_tokens = 0;
    std::int64_t tokens = 0;
  };

  /// What the last commit removed.
  struct Removals {
    std::int64_t documents = 0;
    std::int64_t unknown_ids = 0;      ///< ids to remove that no document had
    std::vector<std::string> unknown;  ///< the first kMaxUnknown of them in their order as bytes
    static constexpr std::size_t kMaxUnknown = 100;
  };

  /// Throws Error: `io` if the folder cannot be written, a live process holds its lock or the disk is full; `usage` if
  /// the mode does not fit the folder's contents; `invalid_data` if the index is damaged or not Relucent's.
  static std::unique_ptr<IndexBuilder> open(const std::filesystem::path& folder, Mode mode, const Options& options);

  /// Without close(), drops everything added since the last commit, aborts running merges and releases the lock.
  virtual ~IndexBuilder() = default;

  /// Bytes that are not UTF-8 are stored and indexed as U+FFFD. A later call may throw a document's Error; after an
  /// Error only committed documents count.
  ///
  /// `metadata` is empty or an object in JSON. It is stored as given, unless it is longer than kMaxMetadataBytes; its
  /// members named by the fields' keyword_fields (a string, or an array of strings) and number_fields (a number, or an
  /// array of numbers, up to 2^53) become terms of fields of their names, whatever its length; those named by
  /// analyzed_fields (a string, or an array of strings) become fields that are analyzed as the contents are, with
  /// lengths of their own. Throws Error `invalid_data`, naming document and key, for a member of another kind, and
  /// `usage` for metadata without Options::metadata.
  virtual void add(std::string_view id, std::string_view text, std::string_view metadata) = 0;
  void add(std::string_view id, std::string_view text) { add(id, text, {}); }
  /// Removes every document with this id that was added before, in the next commit. remove() and then add() with the
  /// same id replace a document: each commit has either the old or the new one. Throws Error `usage` for an empty id,
  /// `invalid_data` for one of more than 16,383 characters, which is not indexed, `unsupported` if the index has a
  /// segment that another program wrote.
  virtual void remove(std::string_view id) = 0;
  virtual Removals removals() const = 0;
  /// Makes everything added and removed so far durable, together with `user_data`, in one atomic step. It is on disk on
  /// return.
  virtual void commit(const std::map<std::string, std::string>& user_data) = 0;
  /// The user data of the last commit, without the builder's own keys.
  virtual std::map<std::string, std::string> committed() const = 0;
  virtual Totals totals() const = 0;
  /// In append mode: why open() skipped a damaged newer commit and used the one before; empty if it did not.
  virtual std::string recovered() const = 0;
  /// Merges to at most `segments` segments without deleted documents; keeps the order of documents.
  virtual void merge(int segments) = 0;
  /// Commits pending documents, finishes merges and closes.
  virtual void close() = 0;
};

}  // namespace relucent
