#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "bm25/field_lengths.h"

namespace relucent::bm25 {

/// Exact lengths recovered from somebody else's index, kept beside it so that they are counted only once. The file is
/// named relucent-FIELD.lengths, which Lucene++ does not take for one of its own. `identity` says which state of the
/// index they describe.
class Sidecar {
 public:
  Sidecar(const std::filesystem::path& folder, const std::string& field, std::string identity);

  /// Nothing where the file is missing, damaged or describes another state.
  std::optional<FieldLengths> read() const;
  /// Under a temporary name, then renamed. False where the folder cannot be written; the lengths are then counted anew
  /// the next time.
  bool write(const FieldLengths& lengths) const;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::string identity_;
};

/// Names, sizes in documents and terms, and file lengths of the segments: two indexes that differ do so here.
/// Empty where a leaf is no segment of a folder.
std::string index_identity(const std::vector<Lucene::IndexReaderPtr>& leaves);

}  // namespace relucent::bm25
