// Deeply nested and otherwise damaged JSON and TOML for everything that reads either: an answer or an Error, never a
// crash. RELUCENT_FUZZ_CASES is the number of cases per reader, RELUCENT_FUZZ_SEED the seed of the random numbers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "index_tools/evaluation/qrels_writer.h"
#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/evaluation/rerank_output.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/evaluation/topics.h"
#include "index_tools/indexing/progress_record.h"
#include "model/formats/json_file.h"
#include "model/formats/safetensors_header.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "tests/support/indexing_support.h"

namespace relucent {
namespace {

using index_tools::RerankFormat;

std::size_t number_of(const char* variable, std::size_t otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

/// A text of one of the formats, and what reads it.
struct Target {
  const char* name;
  std::string text;
  std::function<void(const std::string& text, const testing::TemporaryFolder& scratch)> read;
};

void read_corpus_of(const char* corpus, const std::string& text) { testing::read_text(corpus, text); }

std::vector<Target> targets() {
  const auto file = [](const auto& read) {
    return [read](const std::string& text, const testing::TemporaryFolder& scratch) {
      read(scratch.write("input", text));
    };
  };
  const auto corpus = [](const char* name) {
    return [name](const std::string& text, const testing::TemporaryFolder&) { read_corpus_of(name, text); };
  };
  return {
      {"profile", "[rescorer]\nwindow = 50 # hits\nmodel = \"m\"\n[index]\npath = 'p'\n",
       [](const std::string& text, const auto&) { parse_config(text, "profile"); }},
      {"config.json", R"({"model_type": "bert", "hidden_size": 64, "layers": [1, 2.5, {"a": null}]})",
       file([](const auto& path) { JsonFile::read(path); })},
      {"safetensors",
       R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
       [](const std::string& text, const auto&) { parse_safetensors_header(text, "model.safetensors"); }},
      {"rerank to jsonl",
       R"({"qid": "1", "query": "q", "docno": "d", "text": "t", "rank": 1, "score": 2, "extra": [1, {"a": 0}]})"
       "\n",
       file([](const auto& path) {
         for (const auto& query : index_tools::read_rerank_input(path, true).queries) {
           index_tools::RerankedQuery result;
           result.order.resize(query.candidates.size());
           for (std::size_t i = 0; i < result.order.size(); ++i) result.order[i].index = i;
           index_tools::format_reranked(RerankFormat::jsonl, query, result, "tag");
         }
       })},
      {"metadata.json", R"({"ir_datasets_id": "x", "b": [1]})",
       [](const std::string& text, const testing::TemporaryFolder& scratch) {
         index_tools::dataset_id_in(scratch.write("metadata.json", text).parent_path());
       }},
      {"topics",
       R"({"qid": "1", "query": "q", "original_query": {"description": "d"}})"
       "\n",
       file([](const auto& path) { index_tools::read_topics(path); })},
      {"judgments",
       R"({"qid": "1", "docno": "d", "relevance": 1})"
       "\n",
       file([](const auto& path) { index_tools::read_qrels(path); })},
      {"run",
       R"({"qid": "1", "docno": "d", "score": 1.5, "rank": 1})"
       "\n",
       file([](const auto& path) { index_tools::read_run(path); })},
      {"checkpoint", R"({"corpus": "tsv", "documents": 3, "inputs": [{"path": "p", "size": 1}]})",
       [](const std::string& text, const auto&) {
         index_tools::progress_record_from({{index_tools::kProgressKey, text}}, "i");
       }},
      {"jsonl",
       R"({"id": "1", "text": "t", "other": {"a": [1]}})"
       "\n",
       corpus("jsonl")},
      {"one array", R"([{"id": "1", "contents": "t", "a": [[]]}, {"id": "2", "text": "u"}])", corpus("jsonl")},
      {"beir",
       R"({"_id": "1", "title": "t", "text": "x", "metadata": {}})"
       "\n",
       corpus("beir")},
      {"argsme", R"({"arguments": [{"id": "1", "conclusion": "c", "premises": [{"text": "p", "stance": "PRO"}]}]})",
       corpus("argsme/2020-04-01")},
      {"wapo",
       R"({"id": "1", "title": "t", "contents": [{"type": "sanitized_html", "content": "<p>x</p>"}]})"
       "\n",
       corpus("wapo/v2")},
      {"passages v2",
       R"({"pid": "1", "passage": "p", "spans": "", "docid": "d"})"
       "\n",
       corpus("msmarco-passage-v2")},
  };
}

class Damage {
 public:
  explicit Damage(std::mt19937& random) : random_(random) {}

  std::string operator()(std::string text) {
    for (std::size_t change = 0, changes = 1 + below(3); change < changes; ++change) {
      const std::size_t place = below(text.size() + 1);
      if (below(3) > 0) {
        text.insert(place, nested());
      } else if (place < text.size() && below(2) == 0) {
        text[place] = static_cast<char>(below(256));
      } else {
        text.erase(place, 1 + below(4));
      }
    }
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  // Levels that open, and for half of them levels that close.
  std::string nested() {
    constexpr std::pair<const char*, const char*> levels[] = {{"[", "]"},   {"{\"a\":", "}"}, {"[{\"b\":[", "]}]"},
                                                              {"{", "}"},   {"a.", ""},       {"{a.b=", "}"},
                                                              {"[[", "]]"}, {"\"a\" . ", ""}};
    constexpr std::size_t depths[] = {1, 2, 60, 254, 255, 256, 257, 258, 1000, 100'000};
    const auto& [open, close] = levels[below(std::size(levels))];
    const std::size_t depth = depths[below(std::size(depths))];
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += "1";
    if (below(2) == 0) return text;
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
  }

  std::mt19937& random_;
};

TEST(NestedTexts, EndInAnAnswerOrAnError) {
  const testing::TemporaryFolder scratch;
  std::mt19937 random(static_cast<unsigned>(number_of("RELUCENT_FUZZ_SEED", 16)));
  Damage damage(random);
  const std::size_t cases = number_of("RELUCENT_FUZZ_CASES", 60);
  std::size_t answers = 0, errors = 0;
  for (const Target& target : targets()) {
    SCOPED_TRACE(target.name);
    for (std::size_t i = 0; i < cases; ++i) {
      const std::string text = damage(target.text);
      try {
        target.read(text, scratch);
        ++answers;
      } catch (const Error& error) {
        EXPECT_FALSE(error.place().empty()) << error.what();
        ++errors;
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what() << " for\n" << text.substr(0, 500);
      }
    }
  }
  EXPECT_GT(answers, 0U);
  EXPECT_GT(errors, 0U);
  RecordProperty("answers", static_cast<int>(answers));
  RecordProperty("errors", static_cast<int>(errors));
  std::printf("%zu cases: %zu answers, %zu errors\n", answers + errors, answers, errors);
}

// The very texts that once ended the process.
TEST(NestedTexts, OfAHundredThousandLevelsAreRefusedByName) {
  const testing::TemporaryFolder scratch;
  const std::string open(100'000, '['), close(100'000, ']');
  for (const Target& target : targets()) {
    if (std::string(target.name) == "profile" || std::string(target.name) == "metadata.json") continue;
    SCOPED_TRACE(target.name);
    const bool corpus = target.text.find("\"qid\"") == std::string::npos && target.text.starts_with('{');
    const std::string text =
        "{\"ignored\": " + open + close + (target.text.starts_with('[') ? "}" : ", " + target.text.substr(1));
    try {
      target.read(target.text.starts_with('[') ? "[" + text + "]" : text, scratch);
      EXPECT_TRUE(corpus || target.text.starts_with('['));  // records that are malformed are counted
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_data) << error.what();
    }
  }
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  try {
    parse_config("[rescorer]\n" + key + " = 1\n", "my.toml");
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("my.toml:2:"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("nests deeper than 256 levels"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace relucent
