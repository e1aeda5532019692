#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "plugin/index_format/segment/file_input.h"
#include "plugin/index_format/segment/file_output.h"

namespace relucent::segment {

inline constexpr std::int32_t kSkipInterval = 16, kMaxSkipLevels = 10;

/// The location of a term's postings.
struct TermInfo {
  std::int32_t document_frequency = 0;
  std::int64_t frequencies = 0;  ///< first byte in .frq
  std::int64_t positions = 0;    ///< first byte in .prx
  std::int64_t skips = 0;        ///< bytes from there to the skip list, for a term of kSkipInterval documents or more
};

/// Writes NAME.tis, and NAME.tii with every 128th term. Add terms in order of field name, then of their UTF-8 bytes.
class TermDictionaryWriter {
 public:
  TermDictionaryWriter(const std::filesystem::path& terms, const std::filesystem::path& index);
  void add(std::uint32_t field, std::string_view text, const TermInfo& info);
  /// The two files, terms first.
  std::pair<FileSum, FileSum> finish();

 private:
  struct Stream {
    explicit Stream(const std::filesystem::path& path);
    void add(std::uint32_t field, std::string_view text, const TermInfo& info);
    FileSum finish();

    FileOutput out;
    std::int64_t size = 0;
    std::string last_text;
    TermInfo last;
  };

  Stream terms_, index_;
  std::uint32_t last_field_;
  std::int64_t last_index_position_ = 0;
};

/// Reads a .tis file from its start.
class TermDictionaryReader {
 public:
  TermDictionaryReader(const std::filesystem::path& terms, const FileSum& expected);
  /// False at the end.
  bool next();
  /// Values of the current term.
  std::uint32_t field() const { return field_; }
  const std::string& text() const { return text_; }
  const TermInfo& info() const { return info_; }
  void finish() { in_.finish(); }

 private:
  FileInput in_;
  std::int64_t left_ = 0;
  std::uint32_t field_ = 0;
  std::string text_;
  TermInfo info_;
};

}  // namespace relucent::segment
