// Indexes with damaged files, searched and verified: an error or the right answer, never a crash of the process, and no
// other answer that `relucent verify` does not find. Each search and each verification runs in a process of its own, so
// that a crash is counted and does not end the run.
//
// RELUCENT_FUZZ_TRIALS is how many damaged copies are tried of each index (default 40), RELUCENT_FUZZ_SEED begins the
// series, and RELUCENT_FUZZ_KEEP names a folder for copies that did what they must not.
#include <LuceneHeaders.h>
#include <PrefixQuery.h>
#include <SpanNearQuery.h>
#include <SpanTermQuery.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "index_tools/indexing/verify.h"
#include "relucent/error.h"
#include "relucent/open_searcher.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/forged_index.h"
#include "tests/support/indexing_support.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

std::size_t from_environment(const char* name, std::size_t fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

/// Frequent words for skip lists of two levels, rare ones for the index of terms, and texts of many lengths.
std::vector<TestDocument> some_documents() {
  std::mt19937 random(13);
  std::vector<TestDocument> documents;
  for (int i = 0; i < 700; ++i) {
    std::string text = "common ";
    for (int words = static_cast<int>(random() % 12); words >= 0; --words) {
      text += random() % 2 == 0 ? "often " : "word" + std::to_string(random() % 900) + " ";
    }
    if (i % 3 == 0) text += "common words na\xC3\xAFve";
    documents.push_back({"d" + std::to_string(i), text});
  }
  return documents;
}

void write_foreign(const fs::path& folder, bool compound) {
  const auto writer = stock_writer(folder, true);
  writer->setUseCompoundFile(compound);
  const auto documents = some_documents();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    add_stock(writer, documents[i]);
    if (i == 500) writer->commit();
  }
  if (compound) {
    for (const char* id : {"d7", "d130", "d612"}) {
      writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", to_lucene(id)));
    }
  }
  writer->close();
}

Lucene::QueryPtr phrase(const std::vector<std::string>& words) {
  const auto query = Lucene::newLucene<Lucene::PhraseQuery>();
  for (const auto& word : words) query->add(Lucene::newLucene<Lucene::Term>(L"contents", to_lucene(word)));
  return query;
}

std::vector<Lucene::QueryPtr> some_queries() {
  const auto both = Lucene::newLucene<Lucene::BooleanQuery>();
  both->add(term_query("word17"), Lucene::BooleanClause::MUST);
  both->add(term_query("common"), Lucene::BooleanClause::MUST);
  both->add(term_query("often"), Lucene::BooleanClause::SHOULD);
  auto near = Lucene::Collection<Lucene::SpanQueryPtr>::newInstance();
  for (const wchar_t* word : {L"often", L"word"}) {
    near.add(Lucene::newLucene<Lucene::SpanTermQuery>(Lucene::newLucene<Lucene::Term>(L"contents", word)));
  }
  return {flat_query("common word3 words"),
          flat_query("often word250 word899 unknown"),
          both,
          phrase({"common", "word"}),
          phrase({"often", "often"}),
          Lucene::newLucene<Lucene::SpanNearQuery>(near, 3, true),
          Lucene::newLucene<Lucene::PrefixQuery>(Lucene::newLucene<Lucene::Term>(L"contents", L"word88")),
          term_query("d612", "id"),
          term_query("nothing", "absent")};
}

/// Everything that the queries find: totals, hits, bits of the scores, stored texts, and one explanation.
std::string answers(const fs::path& index) {
  Config config;
  config.rescorer.enabled = false;
  const auto searcher = boost::static_pointer_cast<Lucene::Searcher>(openSearcher(index, config));
  std::ostringstream all;
  for (const auto& query : some_queries()) {
    const Lucene::TopDocsPtr top = searcher->search(query, 20);
    const TestHits hits = plain(top);
    all << hits.total;
    for (const TestHit& hit : hits.hits) {
      const auto document = searcher->doc(hit.document);
      all << ' ' << hit.document << ' ' << hit.bits << ' ' << stored_text(document, "id").value_or("-") << ' '
          << stored_text(document, "text").value_or("-");
    }
    if (!hits.hits.empty()) all << ' ' << searcher->explain(query, hits.hits[0].document)->getValue();
    all << '\n';
  }
  return all.str();
}

enum Outcome : int { right, error, other_answer, sound, damaged, crash };

/// In a process of its own, within 20 seconds and 4 GiB.
Outcome apart(const std::function<Outcome()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0}, memory{std::size_t{4} << 30, std::size_t{4} << 30};
    ::setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ::setrlimit(RLIMIT_AS, &memory);
#else
    (void)memory;
#endif
    ::alarm(20);
    try {
      ::_exit(work());
    } catch (const Error& failure) {
      ::_exit(failure.kind() == ErrorKind::internal ? crash : error);
    } catch (const Lucene::LuceneException&) {
      ::_exit(error);  // from doc() and explain(), which are Lucene++'s own
    }
    // Anything else ends the process, as it would the host's.
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : crash;
}

Outcome search(const fs::path& index, const std::string& expected) {
  return apart([&] { return answers(index) == expected ? right : other_answer; });
}

Outcome verify(const fs::path& index) {
  return apart([&] {
    index_tools::VerifyJob job;
    job.index = index;
    job.quiet = true;
    return index_tools::verify_index(job).sound() ? sound : damaged;
  });
}

/// Files with their times, as `cp -p` copies them.
void copy_index(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::create_directory(to);
  for (const auto& file : fs::directory_iterator(from)) {
    const fs::path copy = to / file.path().filename();
    fs::copy_file(file.path(), copy);
    fs::last_write_time(copy, file.last_write_time());
  }
}

/// Flips some bits, overwrites a stretch, or cuts the file off; half the time its age stays what it was.
std::string damage(const fs::path& file, std::mt19937_64& random) {
  const auto age = fs::last_write_time(file);
  std::string bytes = bytes_of(file);
  std::ostringstream what;
  what << file.filename().string();
  if (bytes.empty()) return what.str() + " is empty";
  // Beginnings have the numbers that most depends on.
  const auto place = [&] {
    return random() % (random() % 4 == 0 ? std::min<std::size_t>(bytes.size(), 64) : bytes.size());
  };
  switch (random() % 8) {
    case 0:
      bytes.resize(place());
      what << " cut to " << bytes.size();
      break;
    case 1: {
      const std::size_t at = place(), length = std::min<std::size_t>(1 + random() % 8, bytes.size() - at);
      const char value = random() % 2 == 0 ? '\xFF' : '\x7F';
      bytes.replace(at, length, length, value);
      what << " overwritten at " << at << ", " << length << " bytes";
      break;
    }
    default:
      for (std::size_t flips = 1 + random() % 3; flips > 0; --flips) {
        const std::size_t at = place();
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        what << " flipped at " << at;
      }
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  if (random() % 2 == 0) fs::last_write_time(file, age);
  return what.str();
}

std::string vint(std::uint32_t value) {
  std::string bytes;
  for (; value > 0x7F; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

/// In addition to damage(): numbers that no writer writes, in place of others, and runs of zeros.
std::string forge(const fs::path& file, std::mt19937_64& random) {
  std::string bytes = bytes_of(file);
  if (bytes.empty() || random() % 3 == 0) return damage(file, random);
  const std::size_t at = random() % (random() % 3 == 0 ? std::min<std::size_t>(bytes.size(), 64) : bytes.size());
  constexpr std::uint32_t numbers[] = {0x7FFFFFFF, 0xFFFFFFFF, 0xFFF0BDC0, 0x3FFFFFFF, 0x00100000};
  switch (random() % 4) {
    case 0: bytes.replace(at, 1, vint(numbers[random() % std::size(numbers)])); break;
    case 1: bytes.replace(at, std::min<std::size_t>(8, bytes.size() - at), std::string("\x40\0\0\0\0\0\0\0", 8)); break;
    case 2: bytes.replace(at, std::string::npos, bytes.size() - at, '\0'); break;
    default: {
      const std::size_t length = std::min<std::size_t>(random() % 400, bytes.size() - at);
      bytes.replace(at, length, length, '\0');
    }
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  return file.filename().string() + " forged at " + std::to_string(at);
}

bool is_of_segment(const fs::path& file) {
  return file.filename().string().starts_with('_') && file.extension() != ".sum";
}

/// Whose checksums damaged files have.
enum class Sums { old, recomputed };

struct Counts {
  int searches = 0, verifications = 0, crashes = 0, errors = 0, right = 0, other = 0, other_not_found = 0;
};

/// @param known whether the index was opened once before the damage
Counts try_damage(const fs::path& good, const fs::path& work, bool known, Sums sums, std::size_t trials,
                  std::uint64_t seed) {
  const std::string expected = answers(good);  // this opens it
  if (!known) {
    for (const char* name : {"relucent.checked", "relucent-contents.lengths", "relucent-id.lengths"})
      fs::remove(good / name);
  }
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(good)) names.push_back(file.path().filename().string());
  std::ranges::sort(names);
  Counts counts;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    std::mt19937_64 random(seed + trial);
    copy_index(good, work);
    const fs::path file = work / names[random() % names.size()];
    const bool forged = sums == Sums::recomputed;
    if (forged && !is_of_segment(file)) continue;  // the lists that the checksums are in
    const std::string what = forged ? forge(file, random) : damage(file, random);
    if (forged) recompute_checksums(work);
    SCOPED_TRACE("seed " + std::to_string(seed + trial) + ": " + what);
    const bool verify_first = random() % 2 == 0;
    Outcome verdict = sound;
    if (verify_first) verdict = verify(work);
    const Outcome found = search(work, expected);
    if (!verify_first) verdict = verify(work);
    ++counts.searches;
    ++counts.verifications;
    counts.crashes += (found == crash ? 1 : 0) + (verdict == crash ? 1 : 0);
    counts.errors += found == error ? 1 : 0;
    counts.right += found == right ? 1 : 0;
    counts.other += found == other_answer ? 1 : 0;
    // A forged index may be sound in itself.
    const bool hidden = found == other_answer && verdict == sound && !forged;
    counts.other_not_found += hidden ? 1 : 0;
    EXPECT_NE(found, crash);
    EXPECT_NE(verdict, crash);
    EXPECT_FALSE(known && hidden);
    const char* keep = std::getenv("RELUCENT_FUZZ_KEEP");
    if (keep != nullptr && (found == crash || verdict == crash || (known && hidden))) {
      fs::create_directories(keep);
      copy_index(work, fs::path(keep) / std::to_string(seed + trial));
    }
  }
  return counts;
}

void run(const char* name, const fs::path& good, const fs::path& work, bool known, Sums sums = Sums::old) {
  ASSERT_EQ(answers(good), answers(good));
  ASSERT_EQ(verify(good), sound);
  const Counts counts = try_damage(good, work, known, sums, from_environment("RELUCENT_FUZZ_TRIALS", 40),
                                   from_environment("RELUCENT_FUZZ_SEED", 1));
  std::cout << name << ": " << counts.searches << " searches, " << counts.verifications << " verifications, "
            << counts.crashes << " crashes, " << counts.errors << " errors, " << counts.right << " right answers, "
            << counts.other << " other answers, " << counts.other_not_found << " of them not found by verify\n";
}

TEST(DamagedIndex, OfOurs) {
  const TemporaryFolder folder;
  write_own(folder / "good", some_documents(), 400);
  run("own", folder / "good", folder / "work", true);
}

TEST(DamagedIndex, OfAnotherProgram) {
  const TemporaryFolder folder;
  write_foreign(folder / "good", false);
  run("foreign", folder / "good", folder / "work", true);
}

TEST(DamagedIndex, OfAnotherProgramInCompoundFilesWithDeletions) {
  const TemporaryFolder folder;
  write_foreign(folder / "good", true);
  run("foreign, compound", folder / "good", folder / "work", true);
}

// The first word is the version of the format that follows; Lucene++ believes it and reads what it takes for counts.
TEST(DamagedIndex, WithAnImpossibleVersionOfTheListOfSegments) {
  const TemporaryFolder folder;
  write_own(folder / "own", some_documents(), 400);
  write_foreign(folder / "foreign", false);
  for (const fs::path& good : {folder / "own", folder / "foreign"}) {
    const std::string expected = answers(good);
    for (const std::uint32_t word : {0x7FFFFFFFU, 0x00000000U, 0x00000001U, 0xFFFFFFFFU, 0xFFFFFFFEU, 0xFFFFFFFCU,
                                     0xFFFFFFFBU, 0xFFFFFFF6U, 0x80000000U}) {
      SCOPED_TRACE(word);
      copy_index(good, folder / "work");
      for (const auto& file : fs::directory_iterator(folder / "work")) {
        if (!file.path().filename().string().starts_with("segments_")) continue;
        std::string bytes = bytes_of(file.path());
        for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(word >> (24 - 8 * i));
        std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << bytes;
      }
      EXPECT_EQ(search(folder / "work", expected), error);
      EXPECT_EQ(verify(folder / "work"), damaged);
    }
  }
}

/// Replaces a number of the list of segments, and the checksum at its end. Returns what the number was.
std::uint32_t set_in_list(const fs::path& index, std::size_t at, std::uint32_t number) {
  const fs::path list = index / segments_files(index).front();
  std::string bytes = bytes_of(list);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < 4; ++i) before = before << 8 | static_cast<unsigned char>(bytes[at + i]);
  const auto put = [&](std::size_t place, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) bytes[place + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(at, number);
  boost::crc_32_type sum;
  sum.process_bytes(bytes.data(), bytes.size() - 8);
  put(bytes.size() - 4, sum.checksum());
  std::ofstream(list, std::ios::binary | std::ios::trunc) << bytes;
  return before;
}

void set_next_segment(const fs::path& index, std::uint32_t number) {
  set_in_list(index, 4 + 8, number);  // after the format and the version
}

// The names of new segments are made from this number. With a negative one, an update read outside the list of digits.
TEST(ForgedIndex, WithAnImpossibleNumberOfTheNextSegment) {
  const TemporaryFolder folder;
  const fs::path work = folder / "work";
  write_own(folder / "own", some_documents(), 400);
  const std::string expected = answers(folder / "own");
  for (const std::uint32_t number : {0xFFFFFFFFU, 0x80000000U, 0x7FFFFFFFU, 0x40000001U}) {
    SCOPED_TRACE(number);
    copy_index(folder / "own", work);
    set_next_segment(work, number);
    EXPECT_EQ(search(work, expected), error);
    EXPECT_EQ(verify(work), damaged);
    EXPECT_THROW(IndexBuilder::open(work, IndexBuilder::Mode::append, {}), Error);
    const auto builder = IndexBuilder::open(work, IndexBuilder::Mode::overwrite, {});
    builder->add("a", "word");
    EXPECT_NO_THROW(builder->close());
  }
  copy_index(folder / "own", work);
  set_next_segment(work, 0x40000000U);
  EXPECT_EQ(search(work, expected), right);
  const auto builder = IndexBuilder::open(work, IndexBuilder::Mode::append, {});
  builder->add("a", "word");
  EXPECT_NO_THROW(builder->close());
}

// Without norms that were rewritten there is no list of them. Lucene++ read behind the end of a list with no entries.
TEST(ForgedIndex, WithAnEmptyListOfRewrittenNorms) {
  const TemporaryFolder folder;
  write_foreign(folder / "index", false);
  constexpr std::size_t head = 4 + 8 + 4 + 4, name = 1 + 2, before_norms = 4 + 8 + 4 + 1;
  EXPECT_EQ(set_in_list(folder / "index", head + name + before_norms, 0), 0xFFFFFFFFU);
  EXPECT_EQ(search(folder / "index", {}), error);
  EXPECT_EQ(verify(folder / "index"), damaged);
}

// Nothing is known of such an index: what its structure allows is taken for what was written.
TEST(DamagedIndex, OfAnotherProgramNeverOpenedBefore) {
  const TemporaryFolder folder;
  write_foreign(folder / "loose", false);
  write_foreign(folder / "compound", true);
  run("foreign, new", folder / "loose", folder / "work", false);
  run("foreign, new, compound", folder / "compound", folder / "work", false);
}

TEST(ForgedIndex, OfOurs) {
  const TemporaryFolder folder;
  write_own(folder / "good", some_documents(), 400);
  run("own, forged", folder / "good", folder / "work", true, Sums::recomputed);
}

TEST(ForgedIndex, OfAnotherProgram) {
  const TemporaryFolder folder;
  write_foreign(folder / "good", false);
  run("foreign, forged", folder / "good", folder / "work", true, Sums::recomputed);
}

TEST(ForgedIndex, OfAnotherProgramInCompoundFilesWithDeletions) {
  const TemporaryFolder folder;
  write_foreign(folder / "good", true);
  run("foreign, compound, forged", folder / "good", folder / "work", true, Sums::recomputed);
}

/// Replaces the second term of a dictionary: the number of bytes that it shares with the first, and its own.
std::string with_second_term(std::string tis, std::uint32_t shared, std::uint32_t rest) {
  constexpr std::size_t header = 4 + 8 + 4 + 4 + 4;
  const auto first = static_cast<std::size_t>(static_cast<unsigned char>(tis[header + 1]));
  std::size_t at = header + 2 + first;        // after the first term's text
  for (int numbers = 0; numbers < 4; ++at) {  // its field, documents and offsets
    numbers += static_cast<unsigned char>(tis[at]) < 0x80 ? 1 : 0;
  }
  return tis.replace(at, 2, vint(shared) + vint(rest));
}

// Each of these ended the process, whether the index was verified first or not.
TEST(ForgedIndex, WithNumbersThatLuceneBelieves) {
  const TemporaryFolder folder;
  write_own(folder / "own", some_documents(), 400);
  write_foreign(folder / "foreign", false);
  using Change = std::function<std::string(std::string)>;
  const std::vector<std::tuple<const char*, const char*, Change>> changes = {
      {"size 2^62", ".tii", [](std::string b) { return b.replace(4, 8, std::string("\x40\0\0\0\0\0\0\0", 8)); }},
      {"shared prefix -1,000,000", ".tis", [](std::string b) { return with_second_term(b, 0xFFF0BDC0, 1); }},
      {"length 2^31 - 1", ".tis", [](std::string b) { return with_second_term(b, 0, 0x7FFFFFFF); }},
      {"zeros", ".frq", [](const std::string& b) { return std::string(b.size(), '\0'); }},
  };
  for (const fs::path& good : {folder / "own", folder / "foreign"}) {
    const std::string expected = answers(good);
    for (const auto& [what, extension, change] : changes) {
      SCOPED_TRACE(good.filename().string() + ": " + extension + ' ' + what);
      copy_index(good, folder / "work");
      for (const auto& file : fs::directory_iterator(folder / "work")) {
        if (file.path().extension() != extension) continue;
        const std::string bytes = change(bytes_of(file.path()));
        std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << bytes;
      }
      recompute_checksums(folder / "work");
      EXPECT_EQ(verify(folder / "work"), damaged);
      EXPECT_EQ(search(folder / "work", expected), error);
    }
  }
}

}  // namespace
}  // namespace relucent::testing
