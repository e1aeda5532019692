#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "plugin/index_format/segment/file_output.h"
#include "plugin/index_format/segment/segment.h"

namespace relucent::segment {

/// Writes NAME.fdt with the stored ids, texts, token ids and metadata, and NAME.fdx with the offset of each document.
class StoredFieldsWriter {
 public:
  static constexpr std::int32_t kFormat = 2;
  static constexpr std::int64_t kHeader = 4;  ///< header bytes in each of the two files

  StoredFieldsWriter(const std::filesystem::path& documents, const std::filesystem::path& index)
      : documents_(documents), index_(index) {
    documents_.int32(kFormat);
    index_.int32(kFormat);
  }
  /// Id and text must be well-formed UTF-8. The id is stored as a string, the text, the token ids (if the fields have
  /// them) and the metadata (if there is any) as bytes.
  void add(const Fields& fields, std::string_view id, std::string_view text, std::string_view token_ids,
           std::string_view metadata) {
    constexpr std::uint8_t plain_text = 0;
    start_document();
    documents_.number(2U + (fields.token_ids ? 1 : 0) + (metadata.empty() ? 0 : 1));
    documents_.number(fields.id_number);
    documents_.byte(plain_text);
    documents_.string(id);
    add_bytes(fields.text_number, text);
    if (fields.token_ids) add_bytes(fields.token_ids_number, token_ids);
    if (!metadata.empty()) add_bytes(fields.metadata_number, metadata);
  }
  /// For documents copied unchanged: records the offset of the next one.
  void start_document() { index_.int64(documents_.position()); }
  FileOutput& documents() { return documents_; }
  FileOutput& index() { return index_; }

 private:
  void add_bytes(std::uint32_t field, std::string_view bytes) {
    constexpr std::uint8_t binary = 2;
    documents_.number(field);
    documents_.byte(binary);
    documents_.string(bytes);
  }

  FileOutput documents_, index_;
};

}  // namespace relucent::segment
