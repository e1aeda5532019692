// Indexes whose files were changed by somebody who knows the formats: all checksums are those of the files as they are.
// An input is a list of changes to the files of a sound index, which is verified and searched afterwards: the number of
// the file, the kind of change, the place (two bytes, the low one first), a count, and for bytes to write so many of
// them. An even first byte means our own index, an odd one Lucene++'s.
#include <LuceneHeaders.h>

#include <boost/crc.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "index_tools/indexing/verify.h"
#include "relucent/config.h"
#include "relucent/search_session.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/forged_index.h"

namespace relucent::fuzz {
namespace {

namespace fs = std::filesystem;

std::vector<testing::TestDocument> documents_to_index() {
  std::vector<testing::TestDocument> all;
  for (int i = 0; i < 70; ++i) {  // skip lists begin at 16 documents
    std::string text = "common ";
    for (int j = 0; j <= i % 5; ++j) text += j % 2 == 0 ? "often " : "word" + std::to_string(i * 7 % 50) + " ";
    all.push_back({"d" + std::to_string(i), text + (i % 3 == 0 ? "common na\xC3\xAFve" : "")});
  }
  return all;
}

using Files = std::map<std::string, std::string>;

Files files_of(const fs::path& folder) {
  Files files;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with('_') || name.starts_with("segments_")) files[name] = testing::bytes_of(file.path());
  }
  return files;
}

Files own_index() {
  const fs::path folder = scratch() / "own";
  IndexBuilder::Options options;
  options.metadata = true;
  options.fields.keyword_fields = {"lang"};
  const auto builder = IndexBuilder::open(folder, IndexBuilder::Mode::create, options);
  for (const auto& [id, text] : documents_to_index()) {
    builder->add(id, text, R"({"lang": "en"})");
    if (id == "d40") builder->commit({});
  }
  builder->remove("d7");
  builder->close();
  return files_of(folder);
}

Files foreign_index() {
  const fs::path folder = scratch() / "foreign";
  const auto writer = testing::stock_writer(folder, true);
  for (const auto& document : documents_to_index()) {
    testing::add_stock(writer, document);
    if (document.id == "d40") writer->commit();
  }
  writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", L"d3"));
  writer->close();
  return files_of(folder);
}

class Changes {
 public:
  explicit Changes(std::string_view bytes) : bytes_(bytes) {}

  /// Applies all; returns whether the list of segments is among the changed files.
  bool apply(Files& files) {
    bool list = false;
    while (bytes_.size() >= 5) {
      const auto file = std::next(files.begin(), static_cast<std::ptrdiff_t>(next() % files.size()));
      const unsigned kind = next();
      const std::size_t place = next() + 256 * next(), count = next();
      list = list || file->first.starts_with("segments_");
      change(file->second, kind, place, count);
    }
    return list;
  }

 private:
  std::size_t next() {
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }

  void change(std::string& file, unsigned kind, std::size_t place, std::size_t count) {
    place = std::min(place, file.size());
    switch (kind % 5) {
      case 0: file.replace(place, taken(count).size(), last_); break;
      case 1: file.insert(place, taken(count)); break;
      case 2: file.erase(place, count); break;
      case 3: file.resize(place); break;
      default: file.insert(place, file.substr(place, count)); break;
    }
  }

  std::string_view taken(std::size_t count) {
    last_ = bytes_.substr(0, count);
    bytes_.remove_prefix(last_.size());
    return last_;
  }

  std::string_view bytes_, last_;
};

/// Lucene's lists of segments end with a checksum of what stands before it.
void set_checksum(std::string& list) {
  if (list.size() < 8) return;
  boost::crc_32_type sum;
  sum.process_bytes(list.data(), list.size() - 8);
  for (std::size_t i = 0; i < 8; ++i) {
    list[list.size() - 1 - i] = static_cast<char>(std::uint64_t{sum.checksum()} >> (8 * i) & 0xFF);
  }
}

void read_index(const fs::path& folder) {
  answer_or_error([&] {
    index_tools::VerifyJob job;
    job.index = folder;
    job.quiet = true;
    index_tools::verify_index(job);
  });
  answer_or_error([&] {
    Config config;
    config.rescorer.enabled = false;
    const SearchSession session(folder, config, QuerySyntax::lucene);
    for (const char* query : {"common word3 often", "+often +common word49", "\"common often\"", "word4* id:d30"}) {
      answer_or_error([&] {
        const SearchResult result = session.search(query, 20, HitTexts::whole);
        if (!result.hits.empty()) session.explain(query, result.hits.front().document);
      });
    }
    answer_or_error([&] { session.document("d12"); });
  });
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_TARGET(index) {
  static const Files own = own_index(), foreign = foreign_index();
  if (input.empty()) return;
  Files files = static_cast<unsigned char>(input[0]) % 2 == 0 ? own : foreign;
  const bool list = Changes(input.substr(1)).apply(files);
  const fs::path folder = scratch() / "changed";
  fs::remove_all(folder);
  fs::create_directory(folder);
  for (auto& [name, bytes] : files) {
    if (name.starts_with("segments_")) set_checksum(bytes);
    scratch_file("changed/" + name, bytes);
  }
  if (!list) answer_or_error([&] { testing::recompute_checksums(folder); });
  read_index(folder);
}
