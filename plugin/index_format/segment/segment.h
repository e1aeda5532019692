#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "plugin/index_format/segment/block_sums.h"
#include "plugin/index_format/segment/deletions.h"
#include "plugin/index_format/segment/file_output.h"

namespace relucent::segment {

/// A segment in Lucene 3.0's file format (NAME.fnm, .fdt, .fdx, .nrm, .tis, .tii, .frq, .prx), for documents with a
/// stored id, a stored text, indexed contents and optionally stored token ids.
struct Segment {
  std::string name;                      ///< "_" and a number in base 36
  std::int32_t documents = 0;            ///< including deleted ones
  std::map<std::string, FileSum> files;  ///< by extension without the dot; empty if another program wrote the segment
  /// Counted for segments written in this run; 0 for older ones.
  std::int64_t documents_with_tokens = 0, tokens = 0;
  std::shared_ptr<const Deletions> deletions = {};  ///< null: none

  std::int32_t deleted() const { return deletions ? deletions->count() : 0; }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [extension, file] : files) sum += file.size;
    return sum;
  }
};

/// The extension of our additional file with the block checksums. Segments of earlier versions lack it.
inline constexpr const char* kBlockSums = "sum";
inline constexpr const char* kExtensions[] = {"fdt", "fdx", "fnm", "frq", "nrm", "prx", "tii", "tis"};

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& name, const char* extension);

/// The fields of each of our segments.
struct Fields {
  std::string id, text, contents;  ///< names
  bool token_ids;                  ///< whether kTokenIdsField stores token ids
  std::uint32_t id_number = 0, text_number = 1, contents_number = 2, token_ids_number = 3;

  /// Throws Error `usage` if the field of the id or of the token ids has the same name as another one.
  Fields(const std::string& id_name, const std::string& text_name, const std::string& contents_name,
         bool with_token_ids = false);
  /// The term dictionary is sorted by field name.
  bool contents_first() const { return contents < id; }
  /// Writes NAME.fnm.
  FileSum write(const std::filesystem::path& file) const;
};

/// Thrown inside cancelled work.
struct Cancelled : std::runtime_error {
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace relucent::segment
