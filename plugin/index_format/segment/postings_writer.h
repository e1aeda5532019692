#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "plugin/index_format/segment/file_output.h"
#include "plugin/index_format/segment/term_dictionary.h"

namespace relucent::segment {

/// Writes NAME.frq and NAME.prx, term by term, with a skip list after each long list of documents.
class PostingsWriter {
 public:
  /// @param documents of the segment
  PostingsWriter(const std::filesystem::path& frequencies, const std::filesystem::path& positions,
                 std::int32_t documents);

  void start_term(bool with_frequencies);
  /// Adds the term's next document. With frequencies, write its positions, as differences, to positions() next.
  void add_document(std::int32_t document, std::int32_t frequency);
  FileOutput& positions() { return positions_; }
  TermInfo finish_term();
  /// The two files, frequencies first.
  std::pair<FileSum, FileSum> finish();

 private:
  /// The content of a skip list entry: the document before it and the offsets of the next posting.
  struct Place {
    std::int32_t document = 0;
    std::int64_t frequencies = 0, positions = 0;
  };
  struct Level {
    Place last;
    std::vector<std::uint8_t> bytes;
  };

  void add_skip();
  void write_skips();

  FileOutput frequencies_, positions_;
  int levels_;
  std::array<Level, kMaxSkipLevels> skips_;
  bool with_frequencies_ = true;
  TermInfo info_;
  std::int32_t last_document_ = 0;
};

}  // namespace relucent::segment
