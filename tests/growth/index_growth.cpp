// Indexes, the files next to them, and queries.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "base/json_members.h"
#include "plugin/index_format/records/segment_records.h"
#include "plugin/index_format/records/segment_records_writer.h"
#include "relucent/analysis.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/index_builder.h"
#include "relucent/search_session.h"
#include "tests/growth/growth.h"
#include "tests/growth/scratch.h"

namespace relucent::testing {
namespace {

IndexBuilder::Options options_with_fields() {
  IndexBuilder::Options options;
  options.fields.keyword_fields = {"lang", "tags"};
  options.fields.number_fields = {"year"};
  options.buffer_mb = 16;
  return options;
}

/// An index of so many documents, with a commit every `segment`.
std::shared_ptr<const TemporaryFolder> index_of(std::size_t documents, std::size_t segment = 1'000'000) {
  auto folder = std::make_shared<TemporaryFolder>();
  const auto builder = IndexBuilder::open(folder->path(), IndexBuilder::Mode::overwrite, options_with_fields());
  for (std::size_t i = 0; i < documents; ++i) {
    const std::string number = std::to_string(i);
    builder->add(
        "d" + number, "common word number" + number,
        R"({"lang": "l)" + std::to_string(i % 7) + R"(", "tags": ["t)" + number + R"("], "year": )" + number + "}");
    if ((i + 1) % segment == 0) builder->commit({});
  }
  builder->close();
  return folder;
}

/// Work on a session over `documents` documents.
Work in_session(std::size_t documents, const SearchRequest& request, QuerySyntax syntax = QuerySyntax::words) {
  const auto folder = index_of(documents);
  Config config;
  config.rescorer.enabled = false;
  config.index = options_with_fields().fields;
  const auto session = std::make_shared<SearchSession>(folder->path(), config, syntax);
  return [folder, session, request] {
    try {
      session->search(request);
    } catch (const Error& error) {  // a limit of the query language
      EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    }
  };
}

Case query(const std::string& name, std::size_t size, std::string (*make)(std::size_t),
           QuerySyntax syntax = QuerySyntax::words) {
  return {"query_" + name, size, [make, syntax](std::size_t n) {
            SearchRequest request;
            request.query = make(n);
            return in_session(20, request, syntax);
          }};
}

Case filter(const std::string& name, std::size_t size, std::string (*make)(std::size_t)) {
  return {"filter_" + name, size, [make](std::size_t n) {
            SearchRequest request;
            request.query = "common";
            request.filter = make(n);
            return in_session(20, request);
          }};
}

Case indexed(const std::string& name, std::size_t size, void (*add)(IndexBuilder& builder, std::size_t n)) {
  return {"index_" + name, size, [add](std::size_t n) -> Work {
            const auto folder = std::make_shared<TemporaryFolder>();
            return [folder, add, n] {
              const auto builder =
                  IndexBuilder::open(folder->path(), IndexBuilder::Mode::overwrite, options_with_fields());
              add(*builder, n);
              builder->close();
            };
          }};
}

std::string numbers(std::size_t n) {
  return numbered_texts(n, [](const std::string& i) { return (i == "0" ? "" : ",") + i; });
}

}  // namespace

std::vector<Case> index_cases() {
  std::vector<Case> cases = {
      query("words", 200,
            [](std::size_t n) { return numbered_texts(n, [](const std::string& i) { return "w" + i + " "; }); }),
      query("one_word_again", 500, [](std::size_t n) { return repeated(n, "common "); }),
      query("long_word", 5000, [](std::size_t n) { return std::string(n, 'a'); }),
      query("punctuation", 5000, [](std::size_t n) { return std::string(n, '-'); }),
      query(
          "syntax_words", 100,
          [](std::size_t n) { return numbered_texts(n, [](const std::string& i) { return "w" + i + " "; }); },
          QuerySyntax::lucene),
      query(
          "syntax_must", 100,
          [](std::size_t n) { return numbered_texts(n, [](const std::string& i) { return "+w" + i + " "; }); },
          QuerySyntax::lucene),
      query(
          "syntax_not", 100,
          [](std::size_t n) {
            return "common " + numbered_texts(n, [](const std::string& i) { return "-w" + i + " "; });
          },
          QuerySyntax::lucene),
      query(
          "syntax_phrase", 200, [](std::size_t n) { return "\"" + repeated(n, "common ") + "\""; },
          QuerySyntax::lucene),
      query(
          "syntax_phrases", 100, [](std::size_t n) { return repeated(n, "\"common word\" "); }, QuerySyntax::lucene),
      query(
          "syntax_open", 100, [](std::size_t n) { return repeated(n, "("); }, QuerySyntax::lucene),
      query(
          "syntax_nested", 20, [](std::size_t n) { return repeated(n, "(") + "common" + repeated(n, ")"); },
          QuerySyntax::lucene),
      query(
          "syntax_escapes", 500, [](std::size_t n) { return repeated(n, "\\a"); }, QuerySyntax::lucene),
      query(
          "syntax_boosts", 100, [](std::size_t n) { return repeated(n, "common^2 "); }, QuerySyntax::lucene),
      query(
          "syntax_quotes", 100, [](std::size_t n) { return repeated(n, "\"") + "a"; }, QuerySyntax::lucene),
      query(
          "syntax_fields", 100, [](std::size_t n) { return repeated(n, "contents:common "); }, QuerySyntax::lucene),
      query(
          "syntax_wildcards", 50, [](std::size_t n) { return "c" + repeated(n, "*?"); }, QuerySyntax::lucene),
      query(
          "syntax_fuzzy", 50, [](std::size_t n) { return std::string(n, 'c') + "~"; }, QuerySyntax::lucene),
      filter("values", 200,
             [](std::size_t n) {
               return R"({"lang": [)" +
                      numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"l" : ",\"l") + i + "\""; }) +
                      "]}";
             }),
      filter("numbers", 200, [](std::size_t n) { return "{\"year\": [" + numbers(n) + "]}"; }),
      filter("repeated_key", 500,
             [](std::size_t n) { return "{" + repeated(n, "\"lang\": \"a\",") + "\"lang\": \"a\"}"; }),
      filter("unknown_keys", 500,
             [](std::size_t n) {
               return "{" + numbered_texts(n, [](const std::string& i) { return "\"k" + i + "\": 1,"; }) +
                      "\"lang\": \"a\"}";
             }),
      filter("long_value", 5000, [](std::size_t n) { return R"({"lang": ")" + std::string(n, 'a') + "\"}"; }),
      {"facets", 100,
       [](std::size_t n) {
         SearchRequest request;
         request.query = "common";
         for (std::size_t i = 0; i < n; ++i) request.facets.push_back(i % 2 == 0 ? "lang" : "tags");
         return in_session(20, request);
       }},
      {"facet_values", 100,
       [](std::size_t n) {
         SearchRequest request;
         request.query = "common";
         request.facets = {"tags"};
         return in_session(n, request);
       }},
      {"fields_to_return", 100,
       [](std::size_t n) {
         SearchRequest request;
         request.query = "common";
         for (std::size_t i = 0; i < n; ++i) request.fields.push_back("f" + std::to_string(i));
         return in_session(20, request);
       }},
      {"hits", 100,
       [](std::size_t n) {
         SearchRequest request;
         request.query = "common word";
         request.hits = static_cast<std::int32_t>(n);
         request.explain = true;
         return in_session(n, request);
       }},
      indexed("documents", 100,
              [](IndexBuilder& builder, std::size_t n) {
                for (std::size_t i = 0; i < n; ++i)
                  builder.add("d" + std::to_string(i), "common word number" + std::to_string(i));
              }),
      indexed("long_document", 2000,
              [](IndexBuilder& builder, std::size_t n) { builder.add("d", repeated(n, "common word ")); }),
      indexed("terms_of_a_document", 1000,
              [](IndexBuilder& builder, std::size_t n) {
                builder.add("d", numbered_texts(n, [](const std::string& i) { return "w" + i + " "; }));
              }),
      indexed("long_id", 2000, [](IndexBuilder& builder, std::size_t n) { builder.add(std::string(n, 'i'), "a"); }),
      indexed("keywords", 200,
              [](IndexBuilder& builder, std::size_t n) {
                builder.add("d", "a", R"({"tags": [)" + numbered_texts(n, [](const std::string& i) {
                                        return (i == "0" ? "\"t" : ",\"t") + i + "\"";
                                      }) + "]}");
              }),
      indexed("one_keyword_again", 500,
              [](IndexBuilder& builder, std::size_t n) {
                builder.add("d", "a", R"({"tags": [)" + repeated(n, "\"t\",") + "\"t\"]}");
              }),
      indexed("numbers", 100,
              [](IndexBuilder& builder, std::size_t n) { builder.add("d", "a", "{\"year\": [" + numbers(n) + "]}"); }),
      indexed("metadata_keys", 500,
              [](IndexBuilder& builder, std::size_t n) {
                builder.add("d", "a", "{" + numbered_texts(n, [](const std::string& i) {
                                        return "\"k" + i + "\": 1,";
                                      }) + "\"lang\": \"a\"}");
              }),
      indexed("removals", 100,
              [](IndexBuilder& builder, std::size_t n) {
                for (std::size_t i = 0; i < n; ++i) builder.add("d" + std::to_string(i), "common");
                for (std::size_t i = 0; i < n; ++i) builder.remove("d" + std::to_string(i));
              }),
      indexed("one_id_replaced", 100,
              [](IndexBuilder& builder, std::size_t n) {
                for (std::size_t i = 0; i < n; ++i) {
                  builder.remove("d");
                  builder.add("d", "common");
                }
              }),
      {"open_index", 200,
       [](std::size_t n) -> Work {
         const auto folder = index_of(n);
         return [folder] {
           Config config;
           config.rescorer.enabled = false;
           SearchSession(folder->path(), config, QuerySyntax::words);
         };
       }},
      {"open_segments", 4,
       [](std::size_t n) -> Work {
         const auto folder = index_of(n * 5, 5);
         return [folder] {
           Config config;
           config.rescorer.enabled = false;
           SearchSession(folder->path(), config, QuerySyntax::words);
         };
       },
       4},
      {"analyze_words", 2000,
       [](std::size_t n) { return [text = repeated(n, "running dogs ")] { analyze_english(text); }; }},
      {"analyze_long_word", 20000,
       [](std::size_t n) { return [text = std::string(n, 'a')] { analyze_english(text); }; }},
      {"analyze_marks", 2000,
       [](std::size_t n) { return [text = "e" + repeated(n, "\u0301")] { analyze_english(text); }; }},
      {"analyze_joiners", 2000,
       [](std::size_t n) { return [text = repeated(n, "a\u200d")] { analyze_english(text); }; }},
      {"analyze_emoji", 500,
       [](std::size_t n) { return [text = repeated(n, "\U0001f468\u200d")] { analyze_english(text); }; }},
      {"analyze_flags", 500,
       [](std::size_t n) { return [text = repeated(n, "\U0001f1e9")] { analyze_english(text); }; }},
      {"analyze_dots", 2000, [](std::size_t n) { return [text = repeated(n, "a.")] { analyze_english(text); }; }},
      {"analyze_dots_between_digits", 2000,
       [](std::size_t n) { return [text = repeated(n, "1,")] { analyze_english(text); }; }},
      {"analyze_possessives", 2000,
       [](std::size_t n) { return [text = "a" + repeated(n, "'s")] { analyze_english(text); }; }},
      {"json_members", 1000,
       [](std::size_t n) {
         return [text = "{" +
                        numbered_texts(
                            n, [](const std::string& i) { return (i == "0" ? "\"k" : ",\"k") + i + "\":[1]"; }) +
                        "}"] { json_object_of(json_members(text)); };
       }},
      {"records", 500,
       [](std::size_t n) -> Work {
         const auto folder = std::make_shared<TemporaryFolder>();
         static constexpr RecordsKind kKind{"things", "relucent things --index DIR"};
         const RecordsHeader header{{"_1a", static_cast<std::uint32_t>(n), 1}, 2, "how", 0};
         SegmentRecordsWriter writer(folder->path(), kKind, header);
         for (std::size_t i = 0; i < n; ++i) writer.add(std::optional<std::string_view>("record"));
         writer.commit();
         return [folder, header] {
           const auto records = SegmentRecords::open(folder->path(), kKind, header.segment);
           records->check_all();
           for (std::uint32_t i = 0; i < header.segment.documents; ++i) records->record(i);
         };
       }},
  };
  return cases;
}

}  // namespace relucent::testing
