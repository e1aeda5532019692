// Broken, locked, foreign and full: the first stage answers with an Error that names the place, and loses nothing
// committed.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/first_stage_support.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

TEST(FirstStageFaults, MissingFolderAndFolderWithoutIndex) {
  TemporaryFolder folder;
  expect_error(ErrorKind::io, "absent", [&] { open_reader(folder / "absent"); });
  expect_error(ErrorKind::invalid_data, folder.path().string(), [&] { open_reader(folder.path()); });
  expect_error(ErrorKind::usage, folder.path().string(),
               [&] { open_builder(folder.path(), IndexBuilder::Mode::append); });
  std::ofstream(folder / "file") << "text";
  expect_error(ErrorKind::io, "file", [&] { open_reader(folder / "file"); });
  expect_error(ErrorKind::io, "file", [&] { open_builder(folder / "file", IndexBuilder::Mode::create); });
  expect_error(ErrorKind::io, "/proc/relucent",
               [&] { open_builder("/proc/relucent/index", IndexBuilder::Mode::create); });
}

TEST(FirstStageFaults, ModeMustFitWhatIsThere) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(3), 3);
  expect_error(ErrorKind::usage, folder.path().string(),
               [&] { open_builder(folder.path(), IndexBuilder::Mode::create); });
  IndexBuilder::Options other;
  other.fields.contents_field = "body";
  expect_error(ErrorKind::usage, "contents",
               [&] { IndexBuilder::open(folder.path(), IndexBuilder::Mode::append, other); });
  EXPECT_EQ(open_reader(folder.path())->numDocs(), 3);
  {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::overwrite);
    builder->add("only", "one");
    builder->close();
  }
  EXPECT_EQ(open_reader(folder.path())->numDocs(), 1);
}

TEST(FirstStageFaults, AppendContinuesAfterTheLastCommitAndDropsWhatCameLater) {
  TemporaryFolder folder;
  {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::create);
    builder->add("a", "first text");
    builder->commit({{"position", "1"}});
    builder->add("b", "lost text");
  }
  {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
    EXPECT_EQ(builder->committed(), (std::map<std::string, std::string>{{"position", "1"}}));
    EXPECT_EQ(builder->totals().documents, 1);
    builder->add("c", "second text of four");
    builder->commit({{"position", "2"}});
    EXPECT_EQ(builder->totals().documents, 2);
    EXPECT_EQ(builder->totals().documents_with_tokens, 2);
    EXPECT_EQ(builder->totals().tokens, 5);
    builder->close();
    builder->close();
    expect_error(ErrorKind::usage, folder.path().string(), [&] { builder->add("d", "late"); });
  }
  const auto searcher = open_bm25(folder.path());
  EXPECT_EQ(search(searcher, term_query("lost"), 10).total, 0);
  EXPECT_EQ(search(searcher, term_query("text"), 10).total, 2);
  EXPECT_EQ(searcher->statistics().sum_total_term_freq, 5);
  expect_error(ErrorKind::usage, "relucent.x", [&] {
    open_builder(folder.path(), IndexBuilder::Mode::append)->commit({{"relucent.x", ""}});
  });
}

TEST(FirstStageFaults, OneWriterAtATime) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(3), 3);
  const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
  for (const auto mode : {IndexBuilder::Mode::append, IndexBuilder::Mode::overwrite}) {
    expect_error(ErrorKind::io, std::to_string(getpid()), [&] { open_builder(folder.path(), mode); });
  }
  builder->add("more", "documents");
  builder->close();
  EXPECT_EQ(open_reader(folder.path())->numDocs(), 4);
  EXPECT_NO_THROW(open_builder(folder.path(), IndexBuilder::Mode::append));
}

/// Another process holds the index; it is named; once it is dead, by kill -9 in the middle of its work, nothing blocks
/// and what it committed is there.
TEST(FirstStageFaults, DeadWriterDoesNotBlock) {
  TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::create);
    builder->add("kept", "committed text");
    builder->commit({{"at", "1"}});
    for (int i = 0; i < 2000; ++i) builder->add("lost", "text that nobody committed");
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  expect_error(ErrorKind::io, "process " + std::to_string(child),
               [&] { open_builder(folder.path(), IndexBuilder::Mode::append); });
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(folder / "write.lock"));
  const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
  EXPECT_EQ(builder->totals().documents, 1);
  EXPECT_EQ(builder->committed().at("at"), "1");
  builder->add("next", "text");
  builder->close();
  EXPECT_EQ(search(open_bm25(folder.path()), term_query("text"), 10).total, 2);
}

TEST(FirstStageFaults, IndexOfAnotherProgramIsNotContinued) {
  TemporaryFolder folder;
  write_stock(folder.path(), some_documents(3), 3);
  expect_error(ErrorKind::invalid_data, folder.path().string(),
               [&] { open_builder(folder.path(), IndexBuilder::Mode::append); });
  // Nor one of ours that another program has added to in its own way; searching recovers the lengths.
  TemporaryFolder own;
  write_own(own.path(), some_documents(30), 30);
  const auto writer = stock_writer(own.path(), false);
  add_stock(writer, {"x", "several common words of another program"});
  writer->close();
  expect_error(ErrorKind::invalid_data, own.path().string(),
               [&] { open_builder(own.path(), IndexBuilder::Mode::append); });
  const auto searcher = open_bm25(own.path());
  EXPECT_EQ(searcher->statistics().document_count, 31);
  EXPECT_EQ(search(searcher, term_query("common"), 100).total, 31);
}

TEST(FirstStageFaults, IndexWithDeletionsOfAnotherProgramIsContinued) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(30), 10);
  const auto writer = stock_writer(folder.path(), false);
  writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", L"d3"));
  writer->optimize();
  writer->close();
  const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
  EXPECT_EQ(builder->totals().documents, 29);
  EXPECT_EQ(builder->totals().tokens, 29 * 4);
  builder->add("more", "four common words here");
  builder->merge(1);
  builder->close();
  EXPECT_EQ(open_bm25(folder.path())->statistics().sum_total_term_freq, 30 * 4);
}

TEST(FirstStageFaults, WrongFieldOrAnalyzerIsSaid) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(3), 3);
  IndexConfig fields;
  fields.contents_field = "body";
  expect_error(ErrorKind::usage, "contents",
               [&] { Lucene::newLucene<BM25Searcher>(open_reader(folder.path()), FirstStageConfig{}, fields); });
  FirstStageConfig first_stage;
  first_stage.analyzer = AnalyzerKind::whitespace;
  expect_error(ErrorKind::usage, "english",
               [&] { Lucene::newLucene<BM25Searcher>(open_reader(folder.path()), first_stage, IndexConfig{}); });
  first_stage.analyzer = static_cast<AnalyzerKind>(99);
  expect_error(ErrorKind::usage, "[first_stage] analyzer", [&] { make_analyzer(first_stage); });
}

TEST(FirstStageFaults, OtherAnalyzersIndexAndSearch) {
  for (const AnalyzerKind analyzer : {AnalyzerKind::whitespace, AnalyzerKind::standard}) {
    TemporaryFolder folder;
    IndexBuilder::Options options;
    options.first_stage.analyzer = analyzer;
    write_own(folder.path(), {{"1", "Running Dogs"}, {"2", "running dogs, running"}}, 10, options);
    const auto searcher =
        Lucene::newLucene<BM25Searcher>(open_reader(folder.path()), options.first_stage, IndexConfig{});
    EXPECT_EQ(searcher->statistics().sum_total_term_freq, 5);
    EXPECT_EQ(search(searcher, term_query("Running"), 10).total, analyzer == AnalyzerKind::whitespace ? 1 : 0);
    EXPECT_EQ(search(searcher, term_query("running"), 10).total, analyzer == AnalyzerKind::whitespace ? 1 : 2);
  }
}

TEST(FirstStageFaults, EveryTextComesBackAsItWas) {
  TemporaryFolder folder;
  const std::string big = [] {
    std::string text;
    while (text.size() < (10U << 20)) text += "word" + std::to_string(text.size() % 1000) + " and ";
    return text;
  }();
  const std::string replacement = "\xEF\xBF\xBD";
  // What goes in, what comes back.
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", ""},
      {"plain", "plain"},
      {"invalid \xFF\xC3 bytes", "invalid " + replacement + replacement + " bytes"},
      {"lone surrogate \xED\xA0\x80!", "lone surrogate " + replacement + replacement + replacement + "!"},
      {"beyond \xF4\x90\x80\x80", "beyond " + replacement + replacement + replacement + replacement},
      {"U+FFFF \xEF\xBF\xBF and U+FFFE \xEF\xBF\xBE", "U+FFFF \xEF\xBF\xBF and U+FFFE \xEF\xBF\xBE"},
      {std::string("nul \0 inside", 12), std::string("nul \0 inside", 12)},
      {"emoji \xF0\x9F\x98\x80 \xF0\x90\x8D\x88", "emoji \xF0\x9F\x98\x80 \xF0\x90\x8D\x88"},
      {"cut \xF0\x9F\x98", "cut " + replacement},
      {big, big},
      {"last", "last"},
  };
  {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::create);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      builder->add("id" + std::to_string(i), texts[i].first);
      if (i % 3 == 0) builder->commit({});  // each commit reads its last document back
    }
    builder->close();
  }
  const auto searcher = open_bm25(folder.path());
  ASSERT_EQ(searcher->maxDoc(), static_cast<std::int32_t>(texts.size()));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto document = searcher->doc(static_cast<std::int32_t>(i));
    EXPECT_EQ(stored_text(document, "id"), "id" + std::to_string(i));
    EXPECT_TRUE(stored_text(document, "text") == texts[i].second) << i;
    EXPECT_EQ(stored_text(document, "other"), std::nullopt);
  }
  EXPECT_EQ(search(searcher, term_query("surrog"), 10).total, 1);
  EXPECT_EQ(search(searcher, term_query("byte"), 10).total, 1);
  EXPECT_EQ(search(searcher, term_query("word7"), 10).total, 1);
}

TEST(FirstStageFaults, LongestTextsOfJoinersAndMarksTakeNoLongTime) {
  // Each would cost time squared if the word rules looked ahead without limit.
  for (const std::string unit :
       {"\xE2\x80\x8D", "\xCC\x81", "\xC3\xA9", "_", "a.", "\xF0\x9F\x87\xA6", "\xE0\xB8\x81"}) {
    std::string text;
    while (text.size() < 400000) text += unit;
    const auto start = std::chrono::steady_clock::now();
    analyze_english(text);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), 20) << unit;
  }
}

TEST(FirstStageFaults, EdgesOfSearch) {
  TemporaryFolder empty, folder;
  write_own(empty.path(), {}, 1);
  const auto nothing = open_bm25(empty.path());
  EXPECT_EQ(search(nothing, term_query("word"), 10), TestHits{});
  EXPECT_EQ(nothing->statistics().document_count, 0);
  EXPECT_EQ(nothing->statistics().average_length(), 1.0F);
  write_own(folder.path(), {{"1", ""}, {"2", "the"}, {"3", "word"}}, 10);
  const auto searcher = open_bm25(folder.path());
  EXPECT_EQ(searcher->statistics().document_count, 1);
  EXPECT_EQ(search(searcher, term_query("unknown"), 10), TestHits{});
  EXPECT_EQ(search(searcher, flat_query(""), 10), TestHits{});
  EXPECT_EQ(search(searcher, flat_query("word word"), 1000000).hits.size(), 1U);
  for (const std::int32_t n : {0, -1})
    expect_error(ErrorKind::usage, "hits", [&] { search(searcher, term_query("word"), n); });
  EXPECT_EQ(search(searcher, term_query("2", "id"), 10).hits.at(0).document, 1);
}

void copy_index(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

/// Every file of an index cut short, emptied, removed, and with bytes changed: an Error or an answer, never a crash.
TEST(FirstStageFaults, DamagedIndexIsAnErrorNotACrash) {
  TemporaryFolder folder;
  std::vector<TestDocument> documents = some_documents(400);
  write_own(folder / "good", documents, 200);
  int errors = 0, answers = 0;
  const auto query = flat_query("common number3 here");
  const TestHits wanted = search(open_bm25(folder / "good"), query, 10);
  const auto try_it = [&](const std::string& what) {
    SCOPED_TRACE(what);
    try {
      const auto searcher = open_bm25(folder / "bad");
      const TestHits hits = search(searcher, query, 10);
      for (const TestHit& hit : hits.hits) {
        EXPECT_EQ(stored_text(searcher->doc(hit.document), "text"),
                  documents[static_cast<std::size_t>(hit.document)].text);
      }
      EXPECT_EQ(hits, wanted);
      ++answers;
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
      ++errors;
    } catch (const Lucene::LuceneException&) {
      ++errors;  // from doc(), which is Lucene++'s own
    }
  };
  for (const auto& entry : fs::directory_iterator(folder / "good")) {
    const std::string name = entry.path().filename().string();
    const auto size = entry.file_size();
    for (const std::uintmax_t keep : {std::uintmax_t{0}, size / 2, size - std::min<std::uintmax_t>(size, 1)}) {
      copy_index(folder / "good", folder / "bad");
      fs::resize_file(folder / "bad" / name, keep);
      try_it(name + " cut to " + std::to_string(keep));
    }
    copy_index(folder / "good", folder / "bad");
    fs::remove(folder / "bad" / name);
    try_it(name + " removed");
  }
  EXPECT_GT(errors, 0);
  std::cout << errors << " errors, " << answers << " answers\n";
}

/// Lucene++ itself crashes on some of these.
TEST(FirstStageFaults, EveryDamagedByteOfTheSegmentsFileIsFound) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(20), 10);
  fs::path file;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with("segments_")) file = entry.path();
  }
  std::ifstream in(file, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (std::size_t at = 4; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x81);
    std::ofstream(file, std::ios::binary) << bad;
    expect_error(ErrorKind::invalid_data, file.filename().string(), [&] { open_reader(folder.path()); });
    expect_error(ErrorKind::invalid_data, file.filename().string(),
                 [&] { open_builder(folder.path(), IndexBuilder::Mode::append); });
  }
  // A commit that broke off leaves the one before it as it was.
  std::ofstream(file, std::ios::binary) << good;
  std::string next = file.string();
  ++next.back();
  std::ofstream(next, std::ios::binary) << good.substr(0, good.size() / 2);
  EXPECT_EQ(open_reader(folder.path())->numDocs(), 20);
}

/// Impossible postings: the list contains more or higher documents than the segment has.
TEST(FirstStageFaults, DamagedPostingsAreFound) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(400), 400);
  // A long run of 3, "the next document, once", is a list of postings (or of positions, which does not matter here).
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".cfs" && entry.path().extension() != ".frq") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::size_t lists = 0;
    for (std::size_t at = 0; (at = bytes.find(std::string(100, '\x03'), at)) != std::string::npos; at += 100) {
      bytes.replace(at + 20, 4, "\xFF\xFF\xFF\x7F");
      ++lists;
    }
    ASSERT_GT(lists, 0U);
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
  const auto query = flat_query("common words here");
  expect_error(ErrorKind::invalid_data, ".frq: byte", [&] { search(open_bm25(folder.path()), query, 10); });
  const auto searcher =
      Lucene::newLucene<BM25Searcher>(open_reader(folder.path(), IndexCheck::none), FirstStageConfig{}, IndexConfig{});
  expect_error(ErrorKind::invalid_data, ".frq", [&] { search(searcher, query, 10); });
  expect_error(ErrorKind::invalid_data, "postings", [&] { search_generally(searcher, query, 10); });
}

TEST(FirstStageFaults, SidecarIsUsedCheckedAndRebuilt) {
  TemporaryFolder folder;
  write_stock(folder.path(), some_documents(300), 300);
  const fs::path sidecar = folder / "relucent-contents.lengths";
  const auto query = flat_query("common number3 words");
  const TestHits wanted = search(open_bm25(folder.path()), query, 100);
  const std::string good = bytes_of(sidecar);
  ASSERT_FALSE(good.empty());

  // It is read: a copy with another checksum-proof length would change scores; here its age shows that it is not
  // rewritten.
  const auto age = fs::last_write_time(sidecar);
  EXPECT_EQ(search(open_bm25(folder.path()), query, 100), wanted);
  EXPECT_EQ(fs::last_write_time(sidecar), age);

  for (std::size_t at : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    std::ofstream(sidecar, std::ios::binary) << bad;
    EXPECT_EQ(search(open_bm25(folder.path()), query, 100), wanted);
    EXPECT_TRUE(bytes_of(sidecar) == good) << "not rebuilt after a change at byte " << at;
  }
  for (std::size_t keep : {std::size_t{0}, std::size_t{10}, good.size() - 1}) {
    std::ofstream(sidecar, std::ios::binary) << good.substr(0, keep);
    EXPECT_EQ(search(open_bm25(folder.path()), query, 100), wanted);
    EXPECT_TRUE(bytes_of(sidecar) == good) << "not rebuilt after a cut to " << keep;
  }

  // Lucene++'s writer leaves it alone, and after a change it is rebuilt.
  const auto writer = stock_writer(folder.path(), false);
  add_stock(writer, {"more", "common words"});
  writer->close();
  EXPECT_TRUE(bytes_of(sidecar) == good);
  EXPECT_EQ(open_bm25(folder.path())->statistics().document_count, 301);
  EXPECT_FALSE(bytes_of(sidecar) == good);

  // Where it cannot be written the lengths are counted each time.
  fs::remove(sidecar);
  fs::create_directories(sidecar / "in the way");
  EXPECT_EQ(open_bm25(folder.path())->statistics().document_count, 301);
}

TEST(FirstStageFaults, FullDisk) {
  TemporaryFolder folder;
  fs::create_directory(folder / "small");
  const std::string small = (folder / "small").string();
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=6m") != 0) {
    GTEST_SKIP() << "SKIPPED: needs the right to mount a small tmpfs: " << std::strerror(errno);
  }
  {
    std::mt19937_64 random(3);
    std::unique_ptr<IndexBuilder> builder = open_builder(small, IndexBuilder::Mode::create);
    builder->add("kept", "committed before");
    builder->commit({{"at", "1"}});
    bool said = false;
    try {
      for (int i = 0; i < 200; ++i) {
        std::string text;
        while (text.size() < 100000) text += std::to_string(random()) + " ";
        builder->add(std::to_string(i), text);
        if (i % 10 == 9) builder->commit({{"at", std::to_string(i)}});
      }
    } catch (const Error& error) {
      said = true;
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_NE(std::string(error.what()).find("disk is full"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(small), std::string::npos) << error.what();
    }
    EXPECT_TRUE(said);
    expect_error(ErrorKind::io, "earlier", [&] { builder->add("after", "text"); });
    builder.reset();
    EXPECT_EQ(search(open_bm25(small), term_query("commit"), 10).total, 1);
  }
  umount(small.c_str());
}

/// Registered a second time with a locale that does not exist, and with none.
TEST(FirstStageLocale, NamesOutsideAsciiWork) {
  TemporaryFolder folder;
  const fs::path index = folder / "\xC3\xBC\xE2\x82\xAC index";
  write_own(index, {{"\xC3\xA9", "caf\xC3\xA9"}}, 1);
  const auto searcher = open_bm25(index);
  EXPECT_EQ(search(searcher, term_query("caf\xC3\xA9"), 10).total, 1);
  EXPECT_EQ(stored_text(searcher->doc(0), "id"), "\xC3\xA9");
}

}  // namespace
}  // namespace relucent::testing
