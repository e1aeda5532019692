#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "plugin/index_format/segment/file_output.h"
#include "plugin/index_format/segment/segment.h"

namespace relucent::segment {

/// Writes NAME.fdt with the stored ids, texts and token ids, and NAME.fdx with the offset of each document.
class StoredFieldsWriter {
 public:
  static constexpr std::int32_t kFormat = 2;
  static constexpr std::int64_t kHeader = 4;  ///< header bytes in each of the two files

  StoredFieldsWriter(const std::filesystem::path& documents, const std::filesystem::path& index)
      : documents_(documents), index_(index) {
    documents_.int32(kFormat);
    index_.int32(kFormat);
  }
  /// Id and text must be well-formed UTF-8. The id is stored as a string, the text and the token ids (if the fields
  /// have them) as bytes.
  void add(const Fields& fields, std::string_view id, std::string_view text, std::string_view token_ids) {
    constexpr std::uint8_t plain_text = 0, binary = 2;
    start_document();
    documents_.number(fields.token_ids ? 3 : 2);
    documents_.number(fields.id_number);
    documents_.byte(plain_text);
    documents_.string(id);
    documents_.number(fields.text_number);
    documents_.byte(binary);
    documents_.string(text);
    if (!fields.token_ids) return;
    documents_.number(fields.token_ids_number);
    documents_.byte(binary);
    documents_.string(token_ids);
  }
  /// For documents copied unchanged: records the offset of the next one.
  void start_document() { index_.int64(documents_.position()); }
  FileOutput& documents() { return documents_; }
  FileOutput& index() { return index_; }

 private:
  FileOutput documents_, index_;
};

}  // namespace relucent::segment
