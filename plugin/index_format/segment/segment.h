#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugin/index_format/fields/declared_fields.h"
#include "plugin/index_format/segment/block_sums.h"
#include "plugin/index_format/segment/deletions.h"
#include "plugin/index_format/segment/file_output.h"
#include "relucent/collection_statistics.h"

namespace relucent::segment {

/// A segment in Lucene 3.0's file format (NAME.fnm, .fdt, .fdx, .nrm, .tis, .tii, .frq, .prx), for documents with a
/// stored id, a stored text, indexed contents and optionally stored token ids, stored metadata and declared fields.
struct Segment {
  std::string name;                      ///< "_" and a number in base 36
  std::int32_t documents = 0;            ///< including deleted ones
  std::map<std::string, FileSum> files;  ///< by extension without the dot; empty if another program wrote the segment
  /// By analyzed field: the contents, then the declared texts. Counted for segments written in this run.
  std::vector<FieldStatistics> counts = {};
  std::shared_ptr<const Deletions> deletions = {};  ///< null: none

  std::int32_t deleted() const { return deletions ? deletions->count() : 0; }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [extension, file] : files) sum += file.size;
    return sum;
  }
};

/// Adds counts field by field; those of older segments are empty.
void add_counts(std::vector<FieldStatistics>& sum, const std::vector<FieldStatistics>& part);

/// The extension of our additional file with the block checksums. Segments of earlier versions lack it.
inline constexpr const char* kBlockSums = "sum";
inline constexpr const char* kExtensions[] = {"fdt", "fdx", "fnm", "frq", "nrm", "prx", "tii", "tis"};

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& name, const char* extension);

/// The metadata of documents as fields.
struct MetadataFields {
  bool stored = false;                          ///< whether kMetadataField stores it
  std::vector<fields::DeclaredField> declared;  ///< none unless it is stored
};

/// The fields of each of our segments. Those of the metadata come last, so that segments without them have the same
/// numbers.
struct Fields {
  std::string id, text, contents;  ///< names
  bool token_ids;                  ///< whether kTokenIdsField stores token ids
  MetadataFields metadata;
  std::uint32_t id_number = 0, text_number = 1, contents_number = 2, token_ids_number = 3, metadata_number = 4;

  /// Throws Error `usage` if two fields have the same name, except that of the text and the contents.
  Fields(const std::string& id_name, const std::string& text_name, const std::string& contents_name,
         bool with_token_ids = false, MetadataFields metadata_fields = {});
  std::uint32_t declared_number(std::size_t i) const { return metadata_number + 1 + static_cast<std::uint32_t>(i); }
  /// The numbers of the analyzed fields, which have frequencies, positions and length bytes: the contents, then the
  /// declared texts. Ascending.
  const std::vector<std::uint32_t>& analyzed() const { return analyzed_; }
  /// The numbers of the indexed fields in the order of the term dictionary, by name.
  const std::vector<std::uint32_t>& indexed() const { return indexed_; }
  /// Writes NAME.fnm.
  FileSum write(const std::filesystem::path& file) const;

 private:
  void check_names() const;
  void sort_indexed();

  std::vector<std::uint32_t> indexed_, analyzed_;
};

/// Thrown inside cancelled work.
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace relucent::segment
