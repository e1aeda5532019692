// The best passage of a hit: its place in the stored text, and what happens where there is none.
#include <gtest/gtest.h>

#include <stdexcept>

#include "plugin/second_stage/model_text.h"
#include "relucent/index_builder.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/text_query.h"
#include "tests/support/expect_error.h"
#include "tests/support/rescoring_support.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent {
namespace {

using namespace testing;

/// The passage is a candidate's last character.
class LastCharacter : public NumberScorer {
 public:
  std::optional<TextRange> passage(const Candidate& candidate, const CandidateScore& score,
                                   const StopSignal&) const override {
    ++asked;
    if (trouble) trouble();
    if (score.score < 2) return std::nullopt;
    return TextRange{candidate.text.size() - 1, candidate.text.size() + (score.score > 8 ? 1 : 0)};
  }
  std::function<void()> trouble;
  mutable std::atomic<int> asked = 0;
};

TEST(RescoringPassages, AreThoseOfTheScorerForTheHitsReturned) {
  const SmallIndex index(ten_documents({"1", "3", "9", std::nullopt, "5 long", "4"}));
  const auto scorer = std::make_shared<LastCharacter>();
  Config config = small_config();
  config.rescorer.window = 5;
  const auto answer = rescored(rescoring_searcher(index, config, scorer)->search(term_query("word"), 6));
  ASSERT_EQ(answer->scoreDocs.size(), 6);
  std::vector<std::string> places;
  for (std::int32_t i = 0; i < 6; ++i) {
    const auto hit = rescored_hit(answer, i);
    places.push_back(std::to_string(hit->doc) + ":");
    if (!hit->passage) continue;
    EXPECT_EQ(hit->passage->field, "text");
    places.back() += std::to_string(hit->passage->bytes.begin) + "-" + std::to_string(hit->passage->bytes.end);
  }
  EXPECT_EQ(places, (std::vector<std::string>{"2:", "4:5-6", "1:0-1", "0:", "3:", "5:"}))
      << "2: not a range of the text; 0: the scorer has none; 3: no text; 5: beyond the window";
  EXPECT_EQ(scorer->asked, 4);
  EXPECT_FALSE(answer->degraded);

  rescoring_searcher(index, config, scorer)->search(term_query("word"), 2);
  EXPECT_EQ(scorer->asked, 6) << "only for the hits returned";
  config.rescorer.find_passages = false;
  const auto without = rescored(rescoring_searcher(index, config, scorer)->search(term_query("word"), 7));
  EXPECT_EQ(scorer->asked, 6);
  EXPECT_FALSE(rescored_hit(without, 1)->passage);
}

TEST(RescoringPassages, AreLeftOutWhereFindingThemFails) {
  const SmallIndex index(ten_documents({"3", "4"}));
  for (const OnError on_error : {OnError::first_stage, OnError::fail}) {
    for (const int kind : {0, 1, 2}) {
      const auto scorer = std::make_shared<LastCharacter>();
      scorer->trouble = [kind] {
        if (kind == 0) throw Error(ErrorKind::deadline, "finding", "too late");
        if (kind == 1) throw std::runtime_error("no");
        throw 7;
      };
      Config config = small_config();
      config.rescorer.on_error = on_error;
      const auto answer = rescored(rescoring_searcher(index, config, scorer)->search(term_query("word"), 7));
      EXPECT_FALSE(answer->degraded);
      EXPECT_EQ(answer->rescored, 2);
      EXPECT_EQ(rescored_hit(answer, 0)->doc, 1);
      EXPECT_FALSE(rescored_hit(answer, 0)->passage);
      EXPECT_EQ(scorer->asked, 2);
    }
  }
}

TEST(RescoringPassages, AreNotLookedForAfterTheDeadline) {
  const SmallIndex index(ten_documents({"3", "4", "5"}));
  const auto scorer = std::make_shared<LastCharacter>();
  scorer->trouble = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); };
  Config config = small_config();
  config.rescorer.timeout = std::chrono::milliseconds(1000);
  const auto answer = rescored(rescoring_searcher(index, config, scorer)->search(term_query("word"), 7));
  EXPECT_FALSE(answer->degraded) << "the scores were there in time";
  EXPECT_EQ(scorer->asked, 1);
  EXPECT_TRUE(rescored_hit(answer, 0)->passage);
  EXPECT_FALSE(rescored_hit(answer, 1)->passage);
}

// The model's text from several stored fields.

TEST(RescoringTextFields, AreJoinedByASpaceAndPlacesAreThoseInTheField) {
  using Values = std::vector<std::optional<std::string>>;
  const auto joined = [](Values values) { return join_fields(values, {}); };
  const ModelText all = joined({"A title", " the text\n", "more"});
  EXPECT_EQ(all.text, "A title  the text\n more");
  EXPECT_EQ(all.parts, (std::vector<TextRange>{{0, 7}, {8, 18}, {19, 23}}));
  const ModelText some = joined({std::nullopt, "title", " \n", "", "text"});
  EXPECT_EQ(some.text, "title text");
  EXPECT_EQ(some.parts, (std::vector<TextRange>{{}, {0, 5}, {}, {}, {6, 10}}));
  EXPECT_EQ(joined({" \t", std::nullopt}).text, "");

  using Place = std::pair<std::size_t, TextRange>;
  const auto place = [&](std::size_t begin, std::size_t end) {
    return place_in_field(all.text, all.parts, {begin, end});
  };
  EXPECT_EQ(place(0, 23), (Place{1, {1, 9}})) << "the largest share, without white space";
  EXPECT_EQ(place(0, 9), (Place{0, {0, 7}}));
  EXPECT_EQ(place(2, 12), (Place{0, {2, 7}}));
  EXPECT_EQ(place(9, 17), (Place{1, {1, 9}}));
  EXPECT_EQ(place(20, 23), (Place{2, {1, 4}}));
  EXPECT_EQ(place(3, 3), (Place{0, {0, 0}}));
}

/// Documents with these stored fields; all contain "word", and BM25 ranks them in this order.
class FieldsIndex {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  explicit FieldsIndex(const std::vector<Fields>& documents) {
    const auto writer = newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.path().string())),
                                                       newLucene<Lucene::WhitespaceAnalyzer>(), true,
                                                       Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
    std::string contents = "word";
    for (const Fields& fields : documents) {
      const auto document = newLucene<Lucene::Document>();
      const auto add = [&](const std::string& name, const std::string& value) {
        document->add(newLucene<Lucene::Field>(to_lucene(name), to_lucene(value), Lucene::Field::STORE_YES,
                                               Lucene::Field::INDEX_NO));
      };
      add("id", std::to_string(contents.size()));
      for (const auto& [name, value] : fields) add(name, value);
      document->add(newLucene<Lucene::Field>(L"contents", to_lucene(contents), Lucene::Field::STORE_NO,
                                             Lucene::Field::INDEX_ANALYZED));
      writer->addDocument(document);
      contents += " more";
    }
    writer->close();
  }
  TemporaryFolder folder;
};

TEST(RescoringTextFields, AreWhatTheScorerReadsAndPassagesNameThem) {
  const FieldsIndex index({{{"title", "9 Bread"}, {"text", "keeps"}},
                           {{"text", "7 only a text"}},
                           {{"title", "6"}, {"title", "two titles"}},
                           {{"text", "late"}, {"title", "5"}, {"url", "http"}},
                           {{"url", "nothing to read"}},
                           {{"title", " "}, {"text", "4 blank title"}}});
  const auto scorer = std::make_shared<LastCharacter>();
  Config config = small_config();
  const auto search = [&] {
    const auto reader =
        Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(index.folder.path().string())), true);
    const auto searcher = newLucene<RescoringSearcher>(reader, config, std::make_shared<Rescorer>(config, scorer));
    return rescored(searcher->search(term_query("word"), 10));
  };
  config.index.text_fields = {"title", "text"};
  const auto answer = search();
  std::string seen;
  for (std::int32_t i = 0; i < answer->scoreDocs.size(); ++i) {
    const auto hit = rescored_hit(answer, i);
    seen += std::to_string(hit->doc) + " " + std::to_string(hit->tokens) + " ";  // its tokens are the text's bytes
    if (hit->passage) seen += hit->passage->field + " " + std::to_string(hit->passage->bytes.begin);
    seen += "\n";
  }
  EXPECT_EQ(seen,
            "0 13 \n"  // its passage is not a range of the text
            "1 13 text 12\n"
            "2 12 title 11\n"
            "3 6 text 3\n"
            "5 13 text 12\n"
            "4 0 \n");
  EXPECT_EQ(answer->without_text, 1);
  config.index.text_fields.clear();
  const auto text_alone = search();
  EXPECT_EQ(text_alone->without_text, 2);
  for (std::int32_t i = 0; i < answer->scoreDocs.size(); ++i) {
    for (const auto& other : text_alone->scoreDocs) {
      const auto hit = boost::dynamic_pointer_cast<RescoredHit>(other);
      if (hit->doc != answer->scoreDocs[i]->doc) continue;
      EXPECT_EQ(hit->first_stage_score, rescored_hit(answer, i)->first_stage_score) << "BM25 is the same";
    }
  }
}

TEST(RescoringTextFields, ThatNoDocumentHasAreAnError) {
  const FieldsIndex index(std::vector<FieldsIndex::Fields>{{{"title", "9"}, {"text", "keeps"}}});
  Config config = small_config();
  config.index.text_fields = {"title", "body"};
  const Error error = expect_error(ErrorKind::usage, [&] { openSearcher(index.folder.path(), config); });
  EXPECT_NE(std::string(error.what()).find("\"body\""), std::string::npos) << error.what();
}

/// Sentences of words of one letter, so that chunks differ; 60 and more words do not fit into the tiny model.
std::string letters(std::size_t count, unsigned seed) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 11 == 9) text += '.';
    text += i % 3 == 0 ? "  " : " ";
    text += i % 7 == seed ? "É" : std::string(1, static_cast<char>('A' + (i * 7 + i / 26 + seed) % 26));
  }
  return text;
}

float score_of(const Config& config, const std::string& query, const std::string& text) {
  const Candidate candidate{"id", text, 1.0, 1, {}};
  CandidateScore score;
  make_scorer(config.rescorer)->score(query, {&candidate, 1}, {&score, 1}, {});
  return score.score;
}

// Through the engine's own search, from texts and from stored token ids: a hit's passage, scored alone, has the hit's
// score under maxp.
TEST(RescoringPassages, OfTheCrossEncoderScoreAsTheHitWithAndWithoutStoredTokenIds) {
  const TemporaryFolder folder;
  TinyCheckpoint().write(folder / "model");
  const std::vector<std::string> texts = {letters(300, 1), letters(30, 2), letters(77, 3), letters(120, 4)};
  for (const auto& [stored, chunk_by] : {std::pair(false, ChunkBy::tokens), std::pair(true, ChunkBy::tokens),
                                         std::pair(false, ChunkBy::sentences), std::pair(true, ChunkBy::sentences)}) {
    SCOPED_TRACE(std::string(to_string(chunk_by)) + (stored ? ", stored ids" : ""));
    IndexBuilder::Options options;
    if (stored) options.token_ids_of = folder / "model";
    const auto index = folder / (std::string(to_string(chunk_by)) + (stored ? "-stored" : ""));
    const auto builder = IndexBuilder::open(index, IndexBuilder::Mode::create, options);
    for (std::size_t i = 0; i < texts.size(); ++i) builder->add(std::to_string(i), texts[i]);
    builder->commit({});
    builder->close();

    Config config;
    config.log.level = LogLevel::off;
    config.rescorer.device = Device::cpu();
    config.rescorer.model = (folder / "model").string();
    config.rescorer.long_documents = LongDocuments::maxp;
    config.rescorer.chunk_by = chunk_by;
    config.rescorer.chunk = 25;
    config.rescorer.stride = 20;
    const auto answer = rescored(openSearcher(index, config)->search(makeTextQuery("b c d e f g h", config), 10));
    ASSERT_FALSE(answer->degraded) << answer->reason;
    ASSERT_EQ(answer->rescored, 4);
    CrossEncoderOptions plain;
    plain.backend.device = Device::cpu();
    const auto model = CrossEncoder::load(folder / "model", plain);
    std::size_t parts = 0;
    for (std::int32_t i = 0; i < 4; ++i) {
      const auto hit = rescored_hit(answer, i);
      const std::string& text = texts[static_cast<std::size_t>(hit->doc)];
      ASSERT_TRUE(hit->passage);
      const TextRange place = hit->passage->bytes;
      const std::string_view passage = std::string_view(text).substr(place.begin, place.end - place.begin);
      EXPECT_EQ(model->score("b c d e f g h", {&passage, 1}).documents[0].logit, *hit->logit) << hit->doc;
      if (hit->doc == 1) {
        EXPECT_EQ(passage, text.substr(2));
      } else {
        parts += passage.size() < text.size() / 2 ? 1 : 0;
      }
    }
    EXPECT_EQ(parts, 3U);
    // Token ids are the text's alone.
    config.index.text_fields = {"id", "text"};
    const auto with_ids = rescored(openSearcher(index, config)->search(makeTextQuery("b c d e f g h", config), 10));
    const auto hit = rescored_hit(with_ids, 0);
    const std::string own = std::to_string(hit->doc) + " " + texts[static_cast<std::size_t>(hit->doc)];
    config.index.text_fields.clear();
    EXPECT_EQ(*hit->logit, score_of(config, "b c d e f g h", own));
    EXPECT_GT(answer->times.passages.count(), 0);
  }
}

}  // namespace
}  // namespace relucent
