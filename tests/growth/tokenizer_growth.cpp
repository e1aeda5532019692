// Tokenizers' files, and texts that tokenizers might find hard.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/tokenizer/load_tokenizer.h"
#include "relucent/error.h"
#include "tests/growth/growth.h"
#include "tests/growth/scratch.h"
#include "tests/support/gz_lines.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

json golden(const std::string& name) {
  std::string text;
  for_each_line("tests/goldens/tokenizers/" + name + ".json.gz", [&](const std::string& line) { text += line; });
  return json::parse(text);
}

std::shared_ptr<const TemporaryFolder> folder_of(const std::string& file, const std::string& bytes) {
  const auto folder = std::make_shared<TemporaryFolder>();
  folder->write(file, bytes);
  if (file == "tokenizer.json") {
    folder->write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
  }
  return folder;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const std::string& kind) {
  std::shared_ptr<const TemporaryFolder> folder;
  std::string type = "roberta";
  if (kind == "tiny") {
    folder = folder_of("vocab.txt", "");
    TinyCheckpoint().write(folder->path());
    type = "bert";
  } else if (kind.starts_with("sentencepiece")) {
    folder = folder_of("a.model", bytes_of("tests/goldens/tokenizers/" + kind + ".model"));
    type = kind.ends_with("t5") ? "t5" : "xlm-roberta";
  } else {
    folder = folder_of("tokenizer.json", golden(kind).dump());
    if (kind == "qwen") type = "qwen3";
  }
  return load_tokenizer(folder->path(), 1 << 24, type).tokenizer;
}

Case loaded(const std::string& name, std::size_t size, const std::function<void(json&, std::size_t)>& change,
            const char* base, std::size_t largest_factor = 1000, bool refused = false) {
  return {"load_" + name, size,
          [=](std::size_t n) -> Work {
            json document = golden(base);
            change(document, n);
            const auto folder = folder_of("tokenizer.json", document.dump());
            return [folder] { load_tokenizer(folder->path(), 1 << 24, "roberta"); };
          },
          largest_factor, refused};
}

json added_token(std::size_t id, const std::string& content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

/// Adds tokens of this form behind the vocabulary.
void add_tokens(json& document, std::size_t count, const std::function<std::string(std::size_t)>& content) {
  std::size_t next = document["model"]["vocab"].size();
  for (const json& token : document["added_tokens"]) next = std::max(next, token["id"].get<std::size_t>() + 1);
  for (std::size_t i = 0; i < count; ++i) document["added_tokens"].push_back(added_token(next + i, content(i)));
}

/// Texts that are hard in one way each.
const std::vector<std::pair<const char*, std::function<std::string(std::size_t)>>>& hard_texts() {
  static const std::vector<std::pair<const char*, std::function<std::string(std::size_t)>>> texts = {
      {"one_letter", [](std::size_t n) { return std::string(n, 'a'); }},
      {"one_word", [](std::size_t n) { return repeated(n / 5, "theto"); }},
      {"words", [](std::size_t n) { return repeated(n / 5, "the a "); }},
      {"spaces", [](std::size_t n) { return std::string(n, ' '); }},
      {"lines", [](std::size_t n) { return std::string(n, '\n'); }},
      {"punctuation", [](std::size_t n) { return std::string(n, '-'); }},
      {"digits", [](std::size_t n) { return std::string(n, '7'); }},
      {"apostrophes", [](std::size_t n) { return repeated(n / 2, "'s"); }},
      {"accents", [](std::size_t n) { return "e" + repeated(n / 2, "\u0301"); }},
      {"mixed_accents", [](std::size_t n) { return "e" + repeated(n / 4, "\u0301\u0327"); }},
      {"ideographs", [](std::size_t n) { return repeated(n / 3, "\u5317"); }},
      {"not_utf8", [](std::size_t n) { return std::string(n, '\xff'); }},
      {"controls", [](std::size_t n) { return std::string(n, '\x01'); }},
      {"ligatures", [](std::size_t n) { return repeated(n / 3, "\ufdfa"); }},
      {"hangul", [](std::size_t n) { return repeated(n / 3, "\u1100\u1161"); }},
      {"emoji", [](std::size_t n) { return repeated(n / 7, "\U0001f468\u200d"); }},
      {"angles", [](std::size_t n) { return std::string(n, '<'); }},
      {"almost_special", [](std::size_t n) { return repeated(n / 3, "</s"); }},
      {"special", [](std::size_t n) { return repeated(n / 4, "</s>"); }},
      {"underlines", [](std::size_t n) { return repeated(n / 3, "\u2581"); }},
      {"random_letters",
       [](std::size_t n) {
         std::string text;
         for (std::uint32_t state = 1; text.size() < n;)
           text += static_cast<char>('a' + (state = state * 1664525 + 1013904223) / 171798692);
         return text;
       }},
  };
  return texts;
}

}  // namespace

std::vector<Case> tokenizer_cases() {
  std::vector<Case> cases;
  for (const char* kind :
       {"tiny", "bert-uncased-added", "roberta", "split-regex", "split-gpt2", "qwen", "byte-fallback", "t5", "bge-m3",
        "metaspace-first", "deberta", "sentencepiece-unigram", "sentencepiece-bpe", "sentencepiece-t5"}) {
    for (const auto& [name, make] : hard_texts()) {
      std::string title = std::string(kind) + "_" + name;
      for (char& c : title) c = c == '-' ? '_' : c;
      const auto tokenizer = std::make_shared<std::shared_ptr<const Tokenizer>>();
      cases.push_back({title, 500, [kind, text_of = make, tokenizer](std::size_t n) -> Work {
                         if (!*tokenizer) *tokenizer = tokenizer_of(kind);
                         return [tokenizer = *tokenizer, text = text_of(n)] {
                           std::vector<std::int32_t> ids;
                           try {
                             tokenizer->encode(text, std::size_t{1} << 30, ids);
                           } catch (const Error& error) {  // some refuse texts that become many times longer
                             EXPECT_EQ(error.kind(), ErrorKind::unsupported) << error.what();
                           }
                         };
                       }});
    }
  }
  cases.push_back(loaded(
      "added_tokens", 500,
      [](json& j, std::size_t n) { add_tokens(j, n, [](std::size_t i) { return "<t" + std::to_string(i) + ">"; }); },
      "split-regex"));
  cases.push_back(loaded(
      "added_tokens_of_one_prefix", 100,
      [](json& j, std::size_t n) {
        add_tokens(j, n, [](std::size_t i) { return std::string(200, 'x') + std::to_string(i); });
      },
      "split-regex"));
  cases.push_back(loaded(
      "merges", 200,
      [](json& j, std::size_t n) {
        json vocabulary = {{"a", 0}, {"<s>", 2 * n + 2}, {"</s>", 2 * n + 3}};
        json merges = json::array();
        for (std::size_t i = 1; i <= n; ++i) {
          const std::string part = "a" + std::to_string(i);
          vocabulary[part] = 2 * i;
          vocabulary["a" + part] = 2 * i + 1;
          merges.push_back("a " + part);
        }
        j["model"] = {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}};
        j["added_tokens"] = json::array();
        j.erase("post_processor");
      },
      "split-regex"));
  cases.push_back(loaded(
      "unigram", 500,
      [](json& j, std::size_t n) {
        json vocabulary = json::array({json::array({"<unk>", 0})});
        for (std::size_t i = 0; i < n; ++i) vocabulary.push_back(json::array({"w" + std::to_string(i), -1.0}));
        j["model"]["vocab"] = vocabulary;
        j["model"]["unk_id"] = 0;
        j["added_tokens"] = json::array();
        j.erase("post_processor");
      },
      "t5"));
  cases.push_back(loaded(
      "word_pieces", 500,
      [](json& j, std::size_t n) {
        j["added_tokens"] = json::array();
        for (std::size_t i = 0; i < n; ++i) {
          j["model"]["vocab"]["##w" + std::to_string(i)] = j["model"]["vocab"].size();
        }
      },
      "bert-uncased-added"));
  cases.push_back(loaded(
      "normalizers", 60,
      [](json& j, std::size_t n) {
        json all = json::array();
        for (std::size_t i = 0; i < n; ++i) all.push_back({{"type", "Lowercase"}});
        j["normalizer"] = {{"type", "Sequence"}, {"normalizers", all}};
      },
      "split-regex", 1));
  cases.push_back({"load_vocabulary", 1000, [](std::size_t n) -> Work {
                     const auto folder = folder_of("vocab.txt", "");
                     TinyCheckpoint().write(folder->path());
                     folder->write("vocab.txt",
                                   bytes_of(*folder / "vocab.txt") +
                                       numbered_texts(n, [](const std::string& i) { return "w" + i + "\n"; }));
                     return [folder] { load_tokenizer(folder->path(), 1 << 24, "bert"); };
                   }});
  cases.push_back(
      {"load_special_tokens", 1000, [](std::size_t n) -> Work {
         const auto folder = folder_of("vocab.txt", "");
         TinyCheckpoint().write(folder->path());
         const auto members = [n](const std::string& prefix) {
           return "{" +
                  numbered_texts(
                      n, [&](const std::string& i) { return (i == "0" ? "\"" : ",\"") + prefix + i + "\":1"; }) +
                  "}";
         };
         folder->write("tokenizer_config.json", members("a"));
         folder->write("special_tokens_map.json", members("b"));
         return [folder] { load_tokenizer(folder->path(), 1 << 24, "bert"); };
       }});
  // Texts against tokens that an attacker chose.
  const auto encoded = [&](const std::string& name, std::size_t size,
                           const std::function<void(json&, std::size_t)>& change, const char* base,
                           const std::function<std::string(std::size_t)>& text) {
    cases.push_back({"encode_" + name, size, [=](std::size_t n) -> Work {
                       json document = golden(base);
                       change(document, n);
                       const auto folder = folder_of("tokenizer.json", document.dump());
                       std::shared_ptr<const Tokenizer> tokenizer =
                           load_tokenizer(folder->path(), 1 << 24, "roberta").tokenizer;
                       return [tokenizer, input = text(n)] {
                         std::vector<std::int32_t> ids;
                         tokenizer->encode(input, std::size_t{1} << 30, ids);
                       };
                     }});
  };
  encoded(
      "added_tokens", 500,
      [](json& j, std::size_t n) { add_tokens(j, n, [](std::size_t i) { return "<t" + std::to_string(i) + ">"; }); },
      "split-regex",
      [](std::size_t n) { return numbered_texts(n, [](const std::string& i) { return "<t" + i + "> a"; }); });
  encoded(
      "long_added_tokens", 50,
      [](json& j, std::size_t n) {
        add_tokens(j, 20, [n](std::size_t i) {
          return std::string(std::min<std::size_t>(n, 1000), 'x') + "y" + std::to_string(i);
        });
      },
      "split-regex", [](std::size_t n) { return std::string(20 * n, 'x'); });
  return cases;
}

}  // namespace relucent::testing
