// Indexes whose files were changed by somebody who knows the formats: all checksums are those of the files as they are.
// An input is a list of changes to the files of a sound index, which is verified and searched afterwards: the number of
// the file, the kind of change, the place (two bytes, the low one first), a count, and for bytes to write so many of
// them. An even first byte means our own index, an odd one Lucene++'s; the bits above select what is done with it: 2
// leaves out the verification, 4 the search, and both search after an update: documents are removed and segments merged
// or, with 8, all documents replaced.
#include <LuceneHeaders.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "index_tools/indexing/verify.h"
#include "relucent/config.h"
#include "relucent/index_builder.h"
#include "relucent/search_session.h"
#include "tests/fuzz/index_mutator.h"
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

/// A sound index, which is changed and made sound again for every input: only the files that differ are written.
class Index {
 public:
  explicit Index(fs::path folder) : folder_(std::move(folder)) {
    for (const auto& file : fs::directory_iterator(folder_)) {
      const std::string name = file.path().filename().string();
      if (name.starts_with('_') || name.starts_with("segments_")) {
        files_[name] = testing::bytes_of(file.path());
      } else {
        fs::remove(file.path());
      }
    }
  }

  const fs::path& folder() const { return folder_; }
  const Files& files() const { return files_; }

  void write(const std::string& name, std::string_view bytes) {
    changed_.insert(name);
    put(name, bytes);
  }
  const std::set<std::string>& changed() const { return changed_; }

  void restore() {
    std::set<std::string> sound;
    for (const auto& file : fs::directory_iterator(folder_)) {
      const std::string name = file.path().filename().string();
      const auto original = files_.find(name);
      if (original == files_.end()) {
        fs::remove_all(file.path());
      } else if (!changed_.contains(name) && testing::bytes_of(file.path()) == original->second) {
        sound.insert(name);
      }
    }
    for (const auto& [name, bytes] : files_) {
      if (!sound.contains(name)) put(name, bytes);
    }
    changed_.clear();
  }

 private:
  /// As a new file: notes about what was checked tell files apart by their numbers.
  void put(const std::string& name, std::string_view bytes) const {
    fs::remove(folder_ / name);
    scratch_file(folder_.filename() / name, bytes);
  }

  fs::path folder_;
  Files files_;
  std::set<std::string> changed_;
};

Index own_index() {
  fs::path folder = scratch() / "own";
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
  return Index(std::move(folder));
}

Index foreign_index() {
  fs::path folder = scratch() / "foreign";
  const auto writer = testing::stock_writer(folder, true);
  for (const auto& document : documents_to_index()) {
    testing::add_stock(writer, document);
    if (document.id == "d40") writer->commit();
  }
  writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", L"d3"));
  writer->close();
  return Index(std::move(folder));
}

/// Lucene's lists of segments end with a checksum of what stands before it.
void set_checksum(std::string& list) {
  if (list.size() < 8) return;
  boost::crc_32_type sum;
  sum.process_bytes(list.data(), list.size() - 8);
  for (std::size_t i = 0; i < 8; ++i) {
    list[list.size() - 1 - i] = static_cast<char>(std::uint64_t{sum.checksum()} >> (8 * i) & 0xFF);
  }
}

class Changes {
 public:
  explicit Changes(std::string_view bytes) : bytes_(bytes) {}

  void apply(Index& index) {
    const auto count = static_cast<std::ptrdiff_t>(index.files().size());
    Files changed;
    while (bytes_.size() >= 5) {
      const auto& file = *std::next(index.files().begin(), static_cast<std::ptrdiff_t>(next()) % count);
      const unsigned kind = next();
      const std::size_t place = next() + 256 * next(), bytes = next();
      change(changed.insert(file).first->second, kind, place, bytes);
    }
    for (auto& [name, bytes] : changed) {
      if (name.starts_with("segments_")) set_checksum(bytes);
      index.write(name, bytes);
    }
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

/// An index that nobody changed is not refused as damaged.
template <typename Read>
void answer_or_refuse(const Index& index, const Read& read) {
  answer_or_error([&] {
    try {
      read();
    } catch (const Error& error) {
      if (index.changed().empty() && error.kind() == ErrorKind::invalid_data) {
        report(std::string("a sound index is refused: ") + error.what());
      }
      throw;
    }
  });
}

void verify(const Index& index) {
  answer_or_refuse(index, [&] {
    index_tools::VerifyJob job;
    job.index = index.folder();
    job.quiet = true;
    const bool is_sound = index_tools::verify_index(job).sound();
    if (!is_sound && index.changed().empty()) report("a sound index is reported as damaged");
  });
}

void search(const Index& index) {
  answer_or_refuse(index, [&] {
    Config config;
    config.rescorer.enabled = false;
    const SearchSession session(index.folder(), config, QuerySyntax::lucene);
    std::int32_t best = 0;
    for (const char* query : {"common word3 often", "+often +common word49", "\"common often\"", "word4* id:d30"}) {
      answer_or_refuse(index, [&] {
        const SearchResult result = session.search(query, 20, HitTexts::whole);
        if (!result.hits.empty()) best = result.hits.front().document;
      });
    }
    answer_or_refuse(index, [&] { session.explain(R"(+common "common often" word4*)", best); });
    answer_or_refuse(index, [&] { session.document("d12"); });
  });
}

void update(const fs::path& folder) {
  answer_or_error([&] {
    IndexBuilder::Options options;
    options.only_removes = true;
    const auto builder = IndexBuilder::open(folder, IndexBuilder::Mode::append, options);
    for (const char* id : {"d12", "d40", "d69"}) builder->remove(id);  // two are the last of their segments
    builder->commit({});
    if (builder->totals().deleted > builder->totals().documents) report("more deleted documents than documents");
    builder->merge(1);
    builder->close();
  });
}

void overwrite(const fs::path& folder) {
  answer_or_error([&] {
    try {
      const auto builder = IndexBuilder::open(folder, IndexBuilder::Mode::overwrite, {});
      builder->add("d12", "common word");
      builder->close();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io) report(std::string("an index that cannot be replaced: ") + error.what());
      throw;
    }
  });
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_CHANGES
RELUCENT_FUZZ_TARGET(index) {
  static Index own = own_index(), foreign = foreign_index();
  if (input.empty()) return;
  const auto first = static_cast<unsigned char>(input[0]);
  Index& index = first % 2 == 0 ? own : foreign;
  index.restore();
  Changes(input.substr(1)).apply(index);
  const auto is_list = [](const std::string& name) { return name.starts_with("segments_"); };
  if (&index == &own && std::ranges::none_of(index.changed(), is_list)) {
    answer_or_error([&] { testing::recompute_checksums(index.folder(), index.changed()); });
  }
  const unsigned what = first >> 1U & 3U;
  if (what == 3) (first & 8U) != 0 ? overwrite(index.folder()) : update(index.folder());
  if (what % 2 == 0) verify(index);
  if (what != 2) search(index);
}
