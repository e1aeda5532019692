#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/bm25/field_lengths.h"
#include "relucent/index_files.h"

namespace relucent::bm25 {

/// Exact lengths counted from another program's index, kept beside it so that they are counted only once. The file is
/// named relucent-FIELD.lengths, which Lucene++ does not mistake for one of its own. `identity` identifies the state of
/// the index.
class Sidecar {
 public:
  Sidecar(const std::filesystem::path& folder, const std::string& field, std::string_view identity);

  /// nullopt if the file is missing, damaged or describes another state.
  std::optional<FieldLengths> read() const;
  /// Atomically. False if the folder cannot be written; the lengths are then counted anew the next time.
  bool write(const FieldLengths& lengths) const;

  const std::filesystem::path& file() const { return file_; }

  /// What is in a lengths file, whatever index it is of; nothing where it is missing or damaged.
  struct Content {
    std::string field, identity;
    FieldLengths lengths;
  };
  static std::optional<Content> read(const std::filesystem::path& file);

 private:
  std::filesystem::path file_;
  std::string identity_;
};

/// Names and documents of the segments, and of each file that lengths depend on its size, the time of its last change
/// and a checksum: of the whole file where it is small, else of pieces of it all over. Empty where a leaf is no segment
/// of `folder`. Throws Error `io`.
std::string index_identity(const std::filesystem::path& folder, const std::vector<Lucene::IndexReaderPtr>& leaves);

/// Counts the lengths of every field that has such a file again.
std::vector<LengthsFile> check_sidecars(const std::filesystem::path& folder,
                                        const std::vector<Lucene::IndexReaderPtr>& leaves);

}  // namespace relucent::bm25
