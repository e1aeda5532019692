#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index_tools/corpora/corpus_reader.h"
#include "relucent/error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {

/// Gives bytes in pieces of any size, as compressed files do.
class Pieces : public index_tools::ByteStream {
 public:
  Pieces(std::string bytes, unsigned seed, unsigned largest)
      : bytes_(std::move(bytes)), random_(seed), largest_(largest) {}

  std::size_t read(char* buffer, std::size_t capacity) override {
    const std::size_t count = bytes_.copy(buffer, std::min<std::size_t>(capacity, 1 + random_() % largest_), at_);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  std::minstd_rand random_;
  unsigned largest_;
};

/// A file of `corpus` as the documents of these bytes and what was noticed.
struct ReadResult {
  std::vector<index_tools::Document> documents;
  index_tools::ReadReport report;
};

inline ReadResult read_corpus(std::string_view corpus_id, const std::vector<std::string>& inputs, bool strict = false,
                              const std::vector<std::string>& names = {}) {
  const index_tools::Corpus& corpus = index_tools::find_corpus(corpus_id);
  const auto files = index_tools::find_input_files(inputs, names.empty() ? corpus.names : names);
  index_tools::CorpusReader reader(corpus, files.files, names, strict);
  ReadResult result;
  for (index_tools::Document document; reader.next(document);) result.documents.push_back(document);
  result.report = reader.report();
  return result;
}

inline ReadResult read_text(std::string_view corpus_id, std::string_view text, bool strict = false) {
  const TemporaryFolder folder;
  return read_corpus(corpus_id, {folder.write("input", text).string()}, strict);
}

/// The text holds malformed records of these kinds, each once, and between them the documents with these ids.
inline void expect_kinds(const std::string& corpus, const std::string& text, std::initializer_list<const char*> kinds,
                         std::initializer_list<const char*> ids) {
  SCOPED_TRACE(corpus);
  const auto read = read_text(corpus, text);
  EXPECT_EQ(read.report.malformed_records(), static_cast<std::int64_t>(kinds.size()))
      << read.report.malformed_summary();
  for (const char* kind : kinds)
    EXPECT_TRUE(read.report.kinds().contains(kind)) << kind << " in " << read.report.malformed_summary();
  std::vector<std::string> found;
  for (const auto& document : read.documents) found.push_back(document.id);
  EXPECT_EQ(found, std::vector<std::string>(ids.begin(), ids.end()));
  if (kinds.size() > 0) {
    EXPECT_THROW(read_text(corpus, text, true), Error) << "strict";
  }
}

/// Packs entries as libarchive's `format` ("ustar", "zip", "raw") behind its `filter` ("gzip", "xz", ...; empty: none).
inline void pack(const std::filesystem::path& file, const char* format, const char* filter,
                 const std::vector<std::pair<std::string, std::string>>& entries) {
  ::archive* out = ::archive_write_new();
  const auto check = [&](int status) {
    if (status == ARCHIVE_OK) return;
    const char* reason = ::archive_error_string(out);
    throw std::runtime_error(std::string("packing failed: ") + (reason != nullptr ? reason : "?"));
  };
  check(::archive_write_set_format_by_name(out, format));
  if (*filter != '\0') check(::archive_write_add_filter_by_name(out, filter));
  check(::archive_write_open_filename(out, file.c_str()));
  for (const auto& [name, bytes] : entries) {
    ::archive_entry* entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, name.c_str());
    ::archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    ::archive_entry_set_filetype(entry, AE_IFREG);
    ::archive_entry_set_perm(entry, 0644);
    check(::archive_write_header(out, entry));
    if (::archive_write_data(out, bytes.data(), bytes.size()) != static_cast<la_ssize_t>(bytes.size()))
      check(ARCHIVE_FATAL);
    ::archive_entry_free(entry);
  }
  check(::archive_write_close(out));
  ::archive_write_free(out);
}

}  // namespace relucent::testing
