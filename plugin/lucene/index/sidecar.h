#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/lucene/index/field_lengths.h"
#include "relucent/index_files.h"

namespace relucent::bm25 {

/// Exact lengths counted from another program's index, kept next to it so that they are counted only once. The file is
/// named relucent-FIELD.lengths, which Lucene++ does not mistake for one of its own. `identity` identifies the state of
/// the index.
class Sidecar {
 public:
  Sidecar(const std::filesystem::path& folder, const std::string& field, std::string_view identity);

  /// nullopt if the file is missing, damaged, describes another state or is larger than the lengths of these leaves.
  std::optional<FieldLengths> read(const std::vector<Lucene::IndexReaderPtr>& leaves) const;
  /// Writes the file atomically. Returns false if the folder cannot be written; lengths are then recounted when needed.
  bool write(const FieldLengths& lengths) const;

  const std::filesystem::path& file() const { return file_; }

  /// The contents of a lengths file of any index; nullopt if the file is missing, damaged or larger than `max_bytes`.
  struct Content {
    std::string field, identity;
    FieldLengths lengths;
  };
  static std::optional<Content> read(const std::filesystem::path& file, std::size_t max_bytes);

 private:
  std::filesystem::path file_;
  std::string identity_;
};

/// The names and sizes of the segments, and the file_state() of each file on which lengths depend. Empty if a leaf is
/// not a segment. Throws Error `io`.
std::string index_identity(const std::filesystem::path& folder, const std::vector<Lucene::IndexReaderPtr>& leaves);

/// Recounts the lengths of every field that has such a file and compares.
std::vector<LengthsFile> check_sidecars(const std::filesystem::path& folder,
                                        const std::vector<Lucene::IndexReaderPtr>& leaves);

}  // namespace relucent::bm25
