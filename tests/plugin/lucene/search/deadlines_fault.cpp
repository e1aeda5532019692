// Deadlines inside the steps that may be long. No time is measured: each step has so much to do that it cannot be done
// before its deadline, and must report so itself instead of handing its result on.
#include <gtest/gtest.h>

#include "plugin/lucene/index/stored_fields.h"
#include "plugin/lucene/search/candidate_texts.h"
#include "relucent/rescore_query.h"
#include "relucent/stop_scope.h"
#include "tests/support/expect_error.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

StopSignal in_a_millisecond() {
  StopSignal stop;
  stop.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  return stop;
}

/// What `work` was doing when it ran out of time; empty where it came to its end.
template <typename Work>
std::string stopped(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::deadline) << error.what();
    return error.problem();
  }
  return "";
}

std::string megabytes(std::size_t count, const std::string& words) {
  std::string text;
  text.reserve((count << 20) + words.size());
  while (text.size() < count << 20) text += words;
  return text;
}

HitText text_of(const Lucene::SearcherPtr& searcher, const StopSignal& stop, std::int32_t document = 0) {
  HitText text;
  WantedText wanted{document, &text};
  fetch_texts(searcher, {&wanted, 1}, IndexConfig{}, {}, stop);
  return text;
}

TEST(RescoringDeadlines, AreSeenWhileOneLongTextIsRead) {
  const SmallIndex index({{"long", megabytes(32, "bread keeps fresh in a paper bag; "), "word"}});
  const auto searcher = bm25_searcher(index);
  EXPECT_EQ(stopped([&] { text_of(searcher, in_a_millisecond()); }), "reading the stored texts ran out of time");
  // And all of it is read without a deadline.
  const HitText whole = text_of(searcher, {});
  EXPECT_EQ(whole.text, megabytes(32, "bread keeps fresh in a paper bag; "));
  EXPECT_EQ(whole.id, "long");
}

TEST(RescoringDeadlines, AreSeenWhileWhiteSpaceIsSteppedOver) {
  const SmallIndex index({{"blank", megabytes(4, " \t\n\r"), "word"}});
  const HitText blank = text_of(bm25_searcher(index), {});
  EXPECT_TRUE(blank.fetched);
  EXPECT_EQ(blank.text, "");
}

TEST(RescoringDeadlines, NameTheStepThatWasTooLong) {
  const SmallIndex index({{"long", megabytes(32, "bread keeps fresh in a paper bag; "), "word"}});
  Config config = small_config();
  config.rescorer.timeout = std::chrono::milliseconds(1);
  const auto answer = rescored(rescoring_searcher(index, config, std::make_shared<NumberScorer>())
                                   ->search(newLucene<RescoreQuery>(term_query("word"), "bread"), 1));
  EXPECT_EQ(answer->status, RescoreStatus::failed);
  EXPECT_NE(answer->reason.find("reading the stored texts"), std::string::npos) << answer->reason;
}

TEST(RescoringDeadlines, OfAThreadCountForItsSearchesAlone) {
  const SmallIndex index(ten_documents({"1", "2"}));
  Config config = small_config();
  config.rescorer.timeout = std::chrono::hours(1);
  const auto scorer = std::make_shared<NumberScorer>();
  StopSignal seen;
  scorer->before = [&](const StopSignal& stop) {
    seen = stop;
    stop.throw_if_due("scoring");
  };
  const auto searcher = rescoring_searcher(index, config, scorer);
  const auto search = [&] { return rescored(searcher->search(newLucene<RescoreQuery>(term_query("word"), "a"), 2)); };
  StopSignal past, far;
  past.deadline = std::chrono::steady_clock::now();
  far.deadline = std::chrono::steady_clock::now() + std::chrono::hours(2);
  {
    const StopScope scope(past);
    EXPECT_EQ(search()->status, RescoreStatus::failed);
    {
      const StopScope inner(far);
      EXPECT_EQ(search()->status, RescoreStatus::rescored);
      EXPECT_LT(*seen.deadline, *far.deadline);  // the profile's comes first
    }
    EXPECT_EQ(StopScope::current()->deadline, past.deadline);
    EXPECT_TRUE(search()->degraded);
  }
  EXPECT_EQ(StopScope::current(), nullptr);
  EXPECT_EQ(search()->status, RescoreStatus::rescored);
}

TEST(RescoringDeadlines, AStopRequestedForAThreadInterruptsItsSearch) {
  const SmallIndex index(ten_documents({"1", "2"}));
  std::stop_source source;
  const auto scorer = std::make_shared<NumberScorer>();
  scorer->before = [&](const StopSignal& stop) {
    source.request_stop();
    stop.throw_if_due("scoring");
  };
  const auto searcher = rescoring_searcher(index, small_config(), scorer);
  StopSignal stop;
  stop.stop = source.get_token();
  const StopScope scope(stop);
  expect_error(ErrorKind::interrupted, [&] { searcher->search(newLucene<RescoreQuery>(term_query("word"), "a"), 2); });
}

/// An index whose stored texts lie at all kinds of places in the pieces they are read in.
TEST(RescoringDeadlines, TextsReadInPiecesAreTheOnesThatWereStored) {
  const std::string two = "\xC3\xA9", three = "\xE6\x9D\xB1", four = "\xF0\x9F\x98\x80";
  std::vector<StoredDocument> documents;
  const std::size_t piece = 256 << 10;
  for (std::size_t before = piece - 5; before <= piece + 1; ++before) {
    for (const auto& character : {two, three, four}) {
      documents.push_back({"d" + std::to_string(documents.size()),
                           std::string(before, 'x') + character + character + std::string(piece, 'y') + character,
                           "word"});
    }
  }
  const SmallIndex index(documents);
  const auto searcher = bm25_searcher(index);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const HitText read = text_of(searcher, {}, static_cast<std::int32_t>(i));
    EXPECT_EQ(read.id, documents[i].id);
    EXPECT_TRUE(read.text == *documents[i].text) << i;
  }
}

// What Lucene++ reads whole and what is read in pieces: the same, over several segments, deletions and a MultiSearcher.
TEST(RescoringDeadlines, PiecesAndLucenesOwnReadingAgree) {
  const TemporaryFolder folder;
  const auto writer = newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.path().string())),
                                                     newLucene<Lucene::WhitespaceAnalyzer>(), true,
                                                     Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setMergeScheduler(newLucene<Lucene::SerialMergeScheduler>());
  for (int i = 0; i < 9; ++i) {
    const auto entry = newLucene<Lucene::Document>();
    const auto add = [&](const wchar_t* name, const std::string& value) {
      entry->add(
          newLucene<Lucene::Field>(name, to_lucene(value), Lucene::Field::STORE_YES, Lucene::Field::INDEX_ANALYZED));
    };
    add(L"other", std::string(static_cast<std::size_t>(i) * 1000, 'o'));
    add(L"id", "d" + std::to_string(i));
    if (i % 3 != 0) add(L"text", "text " + std::to_string(i) + " \xE6\x9D\xB1");
    if (i % 3 == 2) add(L"text", "more");
    const std::string bytes = {'\x01', '\xFF', static_cast<char>(i)};
    const auto binary = Lucene::ByteArray::newInstance(3);
    std::copy(bytes.begin(), bytes.end(), binary.get());
    if (i % 2 == 0) entry->add(newLucene<Lucene::Field>(L"bytes", binary, Lucene::Field::STORE_YES));
    writer->addDocument(entry);
    if (i % 4 == 3) writer->commit();
  }
  writer->deleteDocuments(newLucene<Lucene::Term>(L"id", L"d4"));
  writer->close();
  const auto reader = Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(folder.path().string())), true);
  const Lucene::SearcherPtr over_one = newLucene<Lucene::IndexSearcher>(reader);
  const auto parts = Lucene::newCollection<Lucene::SearchablePtr>(over_one);
  const Lucene::SearcherPtr over_several = newLucene<Lucene::MultiSearcher>(parts);
  using Values = WantedField::Values;
  const std::vector<WantedField> wanted = {
      {L"id", Values::first_text}, {L"text", Values::all_texts}, {L"bytes", Values::first_bytes}};
  const StoredFields pieces(reader), whole(over_several);
  for (const std::int32_t i : {0, 1, 2, 3, 4, 5, 6, 7, 8}) {
    const auto values = pieces.read(i, wanted, {});
    EXPECT_EQ(values, whole.read(i, wanted, {})) << i;
    EXPECT_EQ(values[0], "d" + std::to_string(i));
    EXPECT_EQ(values[1].has_value(), i % 3 != 0);
    EXPECT_EQ(values[2].has_value(), i % 2 == 0);
  }
  for (const std::int32_t absent : {9, -1}) {
    EXPECT_ANY_THROW(pieces.read(absent, wanted, {})) << absent;
  }

  // The beginnings of document 5's two values, "text 5 東" and "more", and the field behind them.
  const std::string text = "text 5 \xE6\x9D\xB1 more";
  const auto beginning = [&](std::size_t bytes) {
    std::vector<WantedField> fields = {{L"id", Values::first_text}, {L"text", Values::all_texts, bytes}};
    const auto values = pieces.read(5, fields, {});
    EXPECT_EQ(values[0], "d5");
    return values[1].value_or("none");
  };
  EXPECT_EQ(beginning(4), "text");
  EXPECT_EQ(beginning(7), "text 5 ");
  EXPECT_EQ(beginning(8), "text 5 ") << "a part of a character";
  EXPECT_EQ(beginning(10), text.substr(0, 10));
  EXPECT_EQ(beginning(13), text.substr(0, 13));
  EXPECT_EQ(beginning(text.size()), text);
  EXPECT_EQ(beginning(1000), text);
}

}  // namespace
}  // namespace relucent
