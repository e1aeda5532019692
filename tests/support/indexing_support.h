#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index_tools/corpora/corpus_reader.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

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
