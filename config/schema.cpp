#include "config/schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "config/names.h"
#include "relucent/error.h"
#include "relucent/threads.h"
#include "relucent/weighted_field.h"

namespace relucent::config {
namespace {

struct WholeNumber {
  std::int64_t low, high;
};
struct Number {
  double low, high;  // inclusive; NaN and infinity never pass
};
struct Text {
  std::string allowed;
  std::function<bool(const std::string&)> passes;
  bool is_path = false;
};

Text any_path(std::string allowed) {
  return {std::move(allowed), [](const std::string&) { return true; }, true};
}

bool is_header_name(const std::string& name) {
  return std::ranges::all_of(name, [](unsigned char c) { return (c < 128 && std::isalnum(c) != 0) || c == '-'; });
}

bool is_web_address(const std::string& url) {
  if (url.empty()) return true;
  const std::size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  return scheme > 0 && url.size() > scheme && url[scheme] != '/' &&
         std::ranges::all_of(url, [](unsigned char c) { return c > ' ' && c < 127; });
}

std::string plain(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  return std::string(buffer, end);
}

Key key_of(std::string section, std::string name, Type type, std::string allowed, std::string meaning) {
  Key key;
  key.section = std::move(section);
  key.name = std::move(name);
  key.type = type;
  key.allowed = std::move(allowed);
  key.meaning = std::move(meaning);
  return key;
}

/// `access` is a function from Config& to the key's field, or one from StageConfig& too, of a key that stages have.
template <class Access, class Read, class Write>
void bind_field(Key& key, Access access, Read read, Write write) {
  key.get = [=](const Config& config) -> Value { return read(std::as_const(access(const_cast<Config&>(config)))); };
  key.set = [=](Config& config, const Value& value) { write(access(config), value); };
  if constexpr (std::is_invocable_v<Access, StageConfig&>) {
    key.get_of_stage = [=](const StageConfig& stage) -> Value {
      return read(std::as_const(access(const_cast<StageConfig&>(stage))));
    };
    key.set_of_stage = [=](StageConfig& stage, const Value& value) { write(access(stage), value); };
  }
}

template <class Access>
Key switch_key(std::string section, std::string name, Access access, std::string meaning) {
  Key key = key_of(std::move(section), std::move(name), Type::boolean, "true | false", std::move(meaning));
  bind_field(
      key, access, [](bool field) -> Value { return field; },
      [](bool& field, const Value& value) { field = std::get<bool>(value); });
  key.is_allowed = [](const Value&) { return true; };
  return key;
}

// For std::int32_t, std::optional<std::int32_t> and durations, which are counted in their own unit.
template <class Access>
Key whole_number_key(std::string section, std::string name, Access access, WholeNumber range, std::string meaning) {
  Key key = key_of(std::move(section), std::move(name), Type::integer,
                   fmt::format("whole number, {} to {}", range.low, range.high), std::move(meaning));
  const auto read = [](const auto& field) -> Value {
    if constexpr (requires { field.has_value(); }) {
      if (!field) return {};
      return static_cast<std::int64_t>(*field);
    } else if constexpr (requires { field.count(); }) {
      return static_cast<std::int64_t>(field.count());
    } else {
      return static_cast<std::int64_t>(field);
    }
  };
  const auto write = [](auto& field, const Value& value) {
    if constexpr (requires { field.count(); }) {
      field = std::remove_reference_t<decltype(field)>(std::get<std::int64_t>(value));
    } else {
      field = static_cast<std::int32_t>(std::get<std::int64_t>(value));
    }
  };
  bind_field(key, access, read, write);
  key.is_allowed = [range](const Value& value) {
    const std::int64_t number = std::get<std::int64_t>(value);
    return number >= range.low && number <= range.high;
  };
  return key;
}

// For double and std::optional<double>.
template <class Access>
Key number_key(std::string section, std::string name, Access access, Number range, std::string meaning) {
  const bool bounded = range.high < std::numeric_limits<double>::max();
  Key key = key_of(std::move(section), std::move(name), Type::number,
                   bounded ? fmt::format("number, {} to {}", plain(range.low), plain(range.high)) : "finite number",
                   std::move(meaning));
  const auto read = [](const auto& field) -> Value {
    if constexpr (requires { field.has_value(); }) {
      if (!field) return {};
      return *field;
    } else {
      return field;
    }
  };
  bind_field(key, access, read, [](auto& field, const Value& value) { field = std::get<double>(value); });
  key.is_allowed = [range](const Value& value) {
    const double number = std::get<double>(value);
    return std::isfinite(number) && number >= range.low && number <= range.high;
  };
  return key;
}

template <class Access>
Key text_key(std::string section, std::string name, Access access, const Text& rule, std::string meaning) {
  Key key = key_of(std::move(section), std::move(name), Type::text, rule.allowed, std::move(meaning));
  key.is_path = rule.is_path;
  bind_field(
      key, access, [](const std::string& field) -> Value { return field; },
      [](std::string& field, const Value& value) { field = std::get<std::string>(value); });
  key.is_allowed = [passes = rule.passes](const Value& value) {
    const auto& text = std::get<std::string>(value);
    return text.find('\0') == std::string::npos && passes(text);
  };
  return key;
}

// For a list of names, unset if empty.
template <class Access>
Key names_key(std::string section, std::string name, Access access, std::string allowed, std::string meaning) {
  Key key = key_of(std::move(section), std::move(name), Type::texts, std::move(allowed), std::move(meaning));
  using Names = std::vector<std::string>;
  bind_field(
      key, access, [](const Names& field) -> Value { return field.empty() ? Value() : Value(field); },
      [](Names& field, const Value& value) { field = std::get<Names>(value); });
  key.is_allowed = [](const Value& value) {
    const auto& names = std::get<Names>(value);
    const auto is_name = [](const std::string& one) { return !one.empty() && one.find('\0') == std::string::npos; };
    return !names.empty() && std::all_of(names.begin(), names.end(), is_name) &&
           std::set(names.begin(), names.end()).size() == names.size();
  };
  return key;
}

template <class Access>
Key weighted_fields_key(std::string section, std::string name, Access access, std::string meaning) {
  Key key = names_key(std::move(section), std::move(name), access,
                      "an array of fields' names, each alone or with ^ and a weight from 0.000001 to 1000000, none "
                      "repeated",
                      std::move(meaning));
  key.is_allowed = [](const Value& value) {
    std::set<std::string> names;
    const auto& texts = std::get<std::vector<std::string>>(value);
    return !texts.empty() && std::ranges::all_of(texts, [&](const std::string& text) {
      const auto field = parse_weighted_field(text);
      return field && names.insert(field->name).second;
    });
  };
  return key;
}

template <class Access>
Key choice_key(std::string section, std::string name, Access access, std::string meaning) {
  using Enum = std::remove_reference_t<decltype(access(std::declval<Config&>()))>;
  const std::vector<std::string> names(std::begin(kNames<Enum>), std::end(kNames<Enum>));
  Key key = key_of(std::move(section), std::move(name), Type::text, join(names, " | "), std::move(meaning));
  bind_field(
      key, access, [](Enum field) -> Value { return std::string(name_of(field)); },
      [](Enum& field, const Value& value) { field = value_named<Enum>(std::get<std::string>(value)).value(); });
  key.is_allowed = [](const Value& value) { return value_named<Enum>(std::get<std::string>(value)).has_value(); };
  key.suggest = [names](const std::string& wrong) { return suggest_name(wrong, names); };
  return key;
}

template <class Access>
Key device_key(std::string section, std::string name, Access access, std::string meaning) {
  Key key =
      key_of(std::move(section), std::move(name), Type::text, "auto | ref | cpu | cuda:N | cuda", std::move(meaning));
  bind_field(
      key, access, [](const Device& field) -> Value { return to_string(field); },
      [](Device& field, const Value& value) { field = parse_device(std::get<std::string>(value)); });
  key.is_allowed = [](const Value& value) { return device_from(std::get<std::string>(value)).has_value(); };
  key.suggest = suggest_device;
  return key;
}

std::string language_names() {
  return "arabic (ar) | bengali (bn) | chinese (zh) | dutch (nl) | english (en) | finnish (fi) | french (fr) | "
         "german (de) | hindi (hi) | indonesian (id) | italian (it) | japanese (ja) | korean (ko) | persian (fa) | "
         "portuguese (pt) | russian (ru) | spanish (es) | swedish (sv) | thai (th) | turkish (tr) | simple | "
         "standard | whitespace";
}

template <class Access>
Key language_key(std::string section, std::string name, Access access, std::string meaning) {
  Key key = key_of(std::move(section), std::move(name), Type::text, language_names(), std::move(meaning));
  bind_field(
      key, access,
      [](const std::optional<AnalyzerKind>& field) -> Value {
        return field ? Value(std::string(name_of(*field))) : Value();
      },
      [](std::optional<AnalyzerKind>& field, const Value& value) {
        field = language_from(std::get<std::string>(value));
      });
  key.is_allowed = [](const Value& value) { return language_from(std::get<std::string>(value)).has_value(); };
  key.suggest = [](const std::string& wrong) {
    return suggest_name(wrong, {std::begin(kNames<AnalyzerKind>), std::end(kNames<AnalyzerKind>)});
  };
  return key;
}

template <class Access>
Key count_key(std::string section, std::string name, Access access, std::string meaning) {
  static const std::string exact = "exact";
  Key key = key_of(std::move(section), std::move(name), Type::integer_or_text,
                   "\"exact\" | whole number, 1 to 2147483647", std::move(meaning));
  bind_field(
      key, access,
      [](const std::optional<std::int32_t>& field) -> Value {
        if (!field) return {};
        return *field == kExactCount ? Value(exact) : Value(std::int64_t{*field});
      },
      [](std::optional<std::int32_t>& field, const Value& value) {
        const auto* const number = std::get_if<std::int64_t>(&value);
        field = number == nullptr ? kExactCount : static_cast<std::int32_t>(*number);
      });
  key.is_allowed = [](const Value& value) {
    if (const auto* const text = std::get_if<std::string>(&value)) return *text == exact;
    const std::int64_t number = std::get<std::int64_t>(value);
    return number >= 1 && number <= std::numeric_limits<std::int32_t>::max();
  };
  return key;
}

// A field of the configuration, as a function from Config& to a reference.
#define FIELD(path) \
  [](Config & config) -> auto& { return config.path; }
// A field that each stage has.
#define STAGE_FIELD(name)                        \
  [](auto& config) -> auto& {                    \
    if constexpr (requires { config.rescorer; }) \
      return config.rescorer.name;               \
    else                                         \
      return config.name;                        \
  }

std::vector<Key> make_schema() {
  const auto is_name = [](const std::string& value) { return !value.empty(); };
  const Number any_finite{-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  const Number weight{-1e6, 1e6};
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  return {
      text_key("index", "path", FIELD(index.path), any_path("a folder's path, or empty"),
               "The default index folder, used if no other is given."),
      text_key("index", "id_field", FIELD(index.id_field), {"a field's name, not empty", is_name},
               "The stored field with a document's external id."),
      text_key("index", "text_field", FIELD(index.text_field), {"a field's name, not empty", is_name},
               "The stored field whose text the rescorer reads."),
      names_key("index", "text_fields", FIELD(index.text_fields), "an array of fields' names, none empty or repeated",
                "The stored fields whose texts, joined by a space, the rescorer reads instead of text_field's alone."),
      text_key("index", "contents_field", FIELD(index.contents_field), {"a field's name, not empty", is_name},
               "The indexed field that BM25 searches."),
      language_key("index", "language", FIELD(index.language),
                   "The language of documents and queries. The index records it, so a search need not name it."),
      names_key("index", "keyword_fields", FIELD(index.keyword_fields), "an array of keys, none empty or repeated",
                "Keys of the documents that `relucent index` makes filters and facets of, as texts; the index records "
                "them. See docs/fields-and-filters.md."),
      names_key("index", "number_fields", FIELD(index.number_fields), "an array of keys, none empty or repeated",
                "The same for keys that filters compare as numbers."),
      names_key("index", "analyzed_fields", FIELD(index.analyzed_fields), "an array of keys, none empty or repeated",
                "Keys whose texts `relucent index` makes fields of that [first_stage] fields can search; the index "
                "records them."),
      switch_key("index", "token_ids", FIELD(index.token_ids),
                 "Whether `relucent index` also stores the token ids of [rescorer] model, so that searches need not "
                 "tokenize the texts."),
      choice_key("index", "verify", FIELD(index.verify),
                 "What opening an index checks: structure never lets damaged data be used, checksums reads every byte "
                 "immediately, none checks only names and sizes."),

      choice_key("first_stage", "scoring", FIELD(first_stage.scoring),
                 "How the first stage scores: bm25, or the likelihood of the query in the document's language model, "
                 "smoothed with the collection's: qld as Dirichlet, qljm as Jelinek and Mercer."),
      number_key("first_stage", "k1", FIELD(first_stage.k1), {0, 1000},
                 "BM25's k1: how slowly a repeated term's weight saturates."),
      number_key("first_stage", "b", FIELD(first_stage.b), {0, 1},
                 "BM25's b: how strongly long documents are penalized; 0 is not at all."),
      choice_key("first_stage", "analyzer", FIELD(first_stage.analyzer),
                 "How text becomes terms if [index] language is unset. A search follows the index where this is "
                 "english."),
      weighted_fields_key("first_stage", "fields", FIELD(first_stage.fields),
                          "The indexed fields that are searched, and the factors of their scores, as [\"contents\", "
                          "\"title^2\"]; unset is [index] contents_field alone. See docs/fields-and-filters.md."),
      whole_number_key("first_stage", "hits", FIELD(first_stage.hits), {1, 1'000'000},
                       "The program's default number of hits."),
      count_key("first_stage", "count", FIELD(first_stage.count),
                "How many matching documents are counted before those that cannot become hits are skipped, which is "
                "faster; \"exact\" counts all. Unset is 1000 in the program, the server and Python, and \"exact\" in "
                "openSearcher()."),
      number_key("first_stage", "mu", FIELD(first_stage.mu), {0.001, 1e9},
                 "qld's mu: as how many tokens of each document the collection's language model counts."),
      number_key("first_stage", "lambda", FIELD(first_stage.lambda), {1e-6, 1},
                 "qljm's lambda: the weight of the collection's language model; the rest is the document's."),
      switch_key("first_stage", "rm3", FIELD(first_stage.rm3),
                 "Whether a query of plain words is expanded with terms of its best hits (RM3), and searched again."),
      whole_number_key("first_stage", "rm3_terms", FIELD(first_stage.rm3_terms), {1, 1000},
                       "How many terms RM3 adds at most."),
      whole_number_key("first_stage", "rm3_documents", FIELD(first_stage.rm3_documents), {1, 1000},
                       "How many of the best hits RM3 takes terms from."),
      number_key("first_stage", "rm3_original_weight", FIELD(first_stage.rm3_original_weight), {0, 1},
                 "The share of the query's own terms in RM3's query; the other terms have the rest."),
      switch_key("first_stage", "rm3_ascii_terms", FIELD(first_stage.rm3_ascii_terms),
                 "Whether RM3 adds only terms of the letters a to z and digits; set false for languages with others."),

      switch_key("rescorer", "enabled", FIELD(rescorer.enabled), "false gives plain BM25 and loads no model."),
      text_key("rescorer", "module", STAGE_FIELD(module),
               {fmt::format("{} | a shared object's path", kBuiltInModule), is_name, true},
               "What scores the candidates: the built-in cross-encoder or your own module."),
      text_key("rescorer", "model", STAGE_FIELD(model), any_path("a folder's path, ORG/NAME, or empty"),
               "The checkpoint's folder (Hugging Face layout), or its name in Hugging Face's cache; empty is the "
               "bundled one."),
      device_key(
          "rescorer", "device", STAGE_FIELD(device),
          "Where the model runs; auto uses a GPU if one works, else the CPU; cuda:N is GPU number N, cuda spreads "
          "queries over all GPUs of the same kind as the first; ref is slow reference code."),
      choice_key(
          "rescorer", "fallback_device", STAGE_FIELD(fallback_device),
          "What scores if the GPU is absent or fails (the result is marked degraded): the CPU, whose model is loaded "
          "at the first failure, or nothing, so that on_error decides."),
      choice_key(
          "rescorer", "precision", STAGE_FIELD(precision),
          "The precision of the model's computation; auto is the fastest within the documented tolerances. fp16 and "
          "tf32 need a GPU, int16 and int8 the CPU."),
      whole_number_key("rescorer", "threads", STAGE_FIELD(threads), {0, kMaxThreads},
                       "Threads of the CPU backend, or of the tokenizer before a GPU; 0 is every core this process may "
                       "use, before a GPU at most 16."),
      whole_number_key("rescorer", "window", STAGE_FIELD(window), {1, 100'000},
                       "The rescore window: how many first-stage hits are rescored, whatever page is requested."),
      whole_number_key("rescorer", "max_length", STAGE_FIELD(max_length), {0, 1'000'000},
                       "Maximum input length in tokens, including the query; 0 is the checkpoint's value."),
      whole_number_key(
          "rescorer", "max_query_length", STAGE_FIELD(max_query_length), {0, 1'000'000},
          "Maximum number of word pieces of a query; a number larger than the input removes the limit; 0 is the "
          "checkpoint's limit, if it has one."),
      text_key("rescorer", "instruction", STAGE_FIELD(instruction),
               {"a text, or empty", [](const std::string&) { return true; }},
               "What a model that is told judges by, such as Qwen3-Reranker; empty is the model's own instruction."),
      whole_number_key("rescorer", "attention_window", STAGE_FIELD(attention_window), {-1, 1'000'000},
                       "Overrides the checkpoint's attention window w; -1 is unlimited, unset keeps the checkpoint's."),
      choice_key("rescorer", "pattern", STAGE_FIELD(pattern),
                 "The attention pattern; checkpoint keeps the model's own. full has no window; in the others a "
                 "document's tokens "
                 "see attention_window (unset: the checkpoint's, or else 64, or 4 in sparse) to each side: longformer; "
                 "qds, with "
                 "a token before each sentence that sees all; sparse, whose query sees itself alone; local, where all "
                 "tokens of the input have the window."),
      choice_key(
          "rescorer", "score_mode", STAGE_FIELD(score_mode),
          "How first-stage score and logit are combined: replace takes only the logit, total the weighted sum, avg "
          "half of it, multiply the product, max and min the larger and the smaller."),
      number_key("rescorer", "query_weight", STAGE_FIELD(query_weight), weight,
                 "Weight of the first-stage score (no effect in replace)."),
      number_key("rescorer", "rescore_weight", STAGE_FIELD(rescore_weight), weight, "Weight of the logit."),
      choice_key(
          "rescorer", "normalize", STAGE_FIELD(normalize),
          "Applied to both scores before weighting: minmax maps the window's scores to 0..1, sigmoid each score x "
          "to 1/(1+exp(-x))."),
      number_key("rescorer", "min_score", FIELD(rescorer.min_score), any_finite,
                 "The result list ends before the first hit with a lower combined score; unset keeps all."),
      whole_number_key(
          "rescorer", "timeout_ms", FIELD(rescorer.timeout), {0, largest},
          "Deadline in milliseconds for everything after BM25; after it, on_error decides; 0 means no limit."),
      choice_key(
          "rescorer", "on_error", FIELD(rescorer.on_error),
          "After a failure or a missed deadline: first_stage returns BM25's order, previous_stage that of the stages "
          "that had finished (BM25's if none had), both marked degraded; fail raises the error."),
      choice_key(
          "rescorer", "missing_embeddings", STAGE_FIELD(missing_embeddings),
          "If the model encodes documents ahead of searches (a MixEncoder) and the index has no embedding of a hit: "
          "error fails, naming the command to run; encode encodes the hit's text during the search."),
      choice_key(
          "rescorer", "long_documents", STAGE_FIELD(long_documents),
          "How to score a document that is too long: truncate cuts it, maxp takes its best chunk, firstp its first, "
          "sump the sum of its chunks, avgp their mean, topk the mean of its top_chunks best."),
      choice_key(
          "rescorer", "chunk_by", STAGE_FIELD(chunk_by),
          "Where chunks end: tokens is after chunk word pieces, one chunk every stride; sentences is at the end of a "
          "sentence, as many as fit into chunk word pieces (stride then has no effect)."),
      whole_number_key("rescorer", "chunk", STAGE_FIELD(chunk), {1, 1'000'000},
                       "Word pieces of a document per chunk (all but truncate)."),
      whole_number_key("rescorer", "stride", STAGE_FIELD(stride), {1, 1'000'000},
                       "Word pieces from the start of one chunk to the start of the next; at most chunk."),
      whole_number_key(
          "rescorer", "max_chunks", STAGE_FIELD(max_chunks), {0, 1'000'000},
          "Maximum number of chunks read per document (maxp, sump, avgp, topk); keep_chunks selects them. 0 is all."),
      choice_key("rescorer", "keep_chunks", STAGE_FIELD(keep_chunks),
                 "Which chunks max_chunks keeps: query keeps the first and those that share most with the query; first "
                 "keeps the first ones."),
      whole_number_key("rescorer", "top_chunks", STAGE_FIELD(top_chunks), {1, 1'000'000},
                       "How many of a document's best chunks topk takes the mean of."),
      choice_key(
          "rescorer", "missing_graphs", STAGE_FIELD(missing_graphs),
          "What a MIR does about segments of the index without stored graphs (`relucent graphs`): error refuses, make "
          "makes their graphs at each search."),
      switch_key("rescorer", "find_passages", FIELD(rescorer.find_passages),
                 "Whether each hit returned has the part of its text that scored best; takes as long as tokenizing the "
                 "long ones again."),
      whole_number_key("rescorer", "cache_mb", STAGE_FIELD(cache_mb), {0, 1'000'000},
                       "Megabytes (2^20 bytes) of memory for scores, so that the same query and text need not be "
                       "scored again; about 14,000 scores per megabyte. 0 keeps none."),

      choice_key("log", "level", FIELD(log.level), "The least severe level that is logged."),
      text_key("log", "file", FIELD(log.file), any_path("a file's path, or empty"),
               "The log file; empty is standard error."),

      text_key("server", "host", FIELD(server.host), {"an address of this machine, not empty", is_name},
               "Where the server listens: only this machine can reach 127.0.0.1; 0.0.0.0 and :: are all addresses."),
      whole_number_key("server", "port", FIELD(server.port), {0, 65535}, "The TCP port; 0 is any free one."),
      text_key("server", "token_file", FIELD(server.token_file), any_path("a file's path, or empty"),
               "A file with bearer tokens, one per line, of which a request must name one; empty is $RELUCENT_TOKEN, "
               "or else no token."),
      text_key("server", "client_header", FIELD(server.client_header),
               {"a header's name, or empty", [](const std::string& name) { return is_header_name(name); }},
               "A header in which a proxy that you trust names the client, for example X-Real-IP; empty is the "
               "connection's address."),
      text_key("server", "model_name", FIELD(server.model_name), {"a name, or empty", [](const auto&) { return true; }},
               "The model's name in answers; empty is the name of the checkpoint's folder."),
      text_key("server", "access_log", FIELD(server.access_log),
               {"- | a file's path, or empty", [](const auto&) { return true; }},
               "Where requests are logged, one JSON object per line; - is standard output, empty nowhere. A relative "
               "path is relative to the current directory."),
      text_key("server", "otlp_endpoint", FIELD(server.otlp_endpoint),
               {"a URL of http or https, or empty", [](const std::string& url) { return is_web_address(url); }},
               "A collector that receives the spans of requests (OTLP/HTTP as JSON), for example "
               "http://127.0.0.1:4318; empty is $OTEL_EXPORTER_OTLP_ENDPOINT, or else none."),
      whole_number_key("server", "concurrency", FIELD(server.concurrency), {0, kMaxThreads},
                       "How many requests are computed at the same time; they share the model's threads. 0 is two per "
                       "core, at most 8."),
      whole_number_key("server", "queue", FIELD(server.queue), {1, 1'000'000},
                       "How many requests wait to be computed; further ones are refused with 429."),
      whole_number_key(
          "server", "connections", FIELD(server.connections), {1, 1'000'000},
          "How many connections are open; a further one closes the one that waits longest for a request, or gets 503."),
      whole_number_key("server", "header_bytes", FIELD(server.header_bytes), {1024, 1 << 20},
                       "The longest request line with headers, in bytes."),
      whole_number_key("server", "body_bytes", FIELD(server.body_bytes), {1024, 1 << 30},
                       "The longest request body, in bytes."),
      whole_number_key("server", "text_bytes", FIELD(server.text_bytes), {1, 1 << 30},
                       "The longest query or text of a request, in bytes."),
      whole_number_key("server", "texts", FIELD(server.texts), {1, 1'000'000}, "How many texts a request may have."),
      whole_number_key("server", "hits", FIELD(server.hits), {1, 100'000}, "How many hits a search may ask for."),
      whole_number_key("server", "explained_hits", FIELD(server.explained_hits), {0, 1000},
                       "How many hits a search with `explain` may ask for. 0 turns explanations off."),
      whole_number_key("server", "request_timeout_ms", FIELD(server.request_timeout), {1, largest},
                       "Deadline in milliseconds of a request, from its arrival; a request can ask for a shorter one."),
      whole_number_key("server", "read_timeout_ms", FIELD(server.read_timeout), {1, largest},
                       "How long a request may take to arrive, in milliseconds."),
      whole_number_key("server", "idle_timeout_ms", FIELD(server.idle_timeout), {1, largest},
                       "How long a connection may wait for its next request, in milliseconds."),
      whole_number_key("server", "write_timeout_ms", FIELD(server.write_timeout), {1, largest},
                       "How long a client may take to receive its answer, in milliseconds."),
      whole_number_key("server", "drain_timeout_ms", FIELD(server.drain_timeout), {0, largest},
                       "How long the server finishes requests after SIGTERM, in milliseconds."),
  };
}

#undef FIELD
#undef STAGE_FIELD

}  // namespace

const std::vector<Key>& schema() {
  static const std::vector<Key> keys = make_schema();
  return keys;
}

std::string Key::remedy(const Value& wrong) const {
  const auto* text = std::get_if<std::string>(&wrong);
  return fmt::format("{}allowed: {}", suggest && text != nullptr ? suggest(*text) : "", allowed);
}

std::string_view section_meaning(std::string_view section) {
  if (section == "index") return "The index and its fields.";
  if (section == "first_stage") return "BM25, or query likelihood; with or without query expansion.";
  if (section == "rescorer") {
    return "The second stage: rescoring BM25's best hits with a cross-encoder; in several steps with "
           "[[rescorer.stages]].";
  }
  if (section == "log") return "Log messages; results never go there.";
  if (section == "server") return "The HTTP server, `relucent serve`.";
  return "";
}

const Key* find_key(std::string_view section, std::string_view name) {
  for (const auto& key : schema()) {
    if (key.section == section && key.name == name) return &key;
  }
  return nullptr;
}

std::string section_name(const Key& key, std::size_t stage) {
  return stage == 0 ? key.section : fmt::format("{}.{} {}", key.section, kStages, stage);
}

namespace {

std::vector<Conflict> conflicts_of(const StageConfig& config, std::size_t stage) {
  std::vector<Conflict> all;
  const bool has_window = config.attention_window.value_or(-1) >= 0;
  if (config.attention_window && config.pattern != PatternChoice::checkpoint &&
      has_window != (config.pattern != PatternChoice::full)) {
    all.push_back(
        {find_key("rescorer", "attention_window"), stage,
         fmt::format("attention_window = {} contradicts the pattern", *config.attention_window),
         "set no attention_window with the pattern full, and 0 or more tokens with local, longformer, qds and sparse"});
  }
  if (config.stride > config.chunk) {
    all.push_back({find_key("rescorer", "stride"), stage,
                   fmt::format("stride = {} is above chunk = {}, so words between chunks would never be read",
                               config.stride, config.chunk),
                   "set stride to at most chunk"});
  }
  return all;
}

}  // namespace

std::vector<Conflict> find_conflicts(const Config& config) {
  std::vector<Conflict> all = conflicts_of(config.rescorer, 0);
  const IndexConfig& index = config.index;
  if (!index.text_fields.empty() && index.text_field != "text") {
    all.push_back({find_key("index", "text_fields"), 0,
                   fmt::format("text_field = \"{}\" and text_fields are both set", index.text_field),
                   "set one of them: text_field for one field, text_fields for several"});
  }
  const std::pair<const char*, const std::vector<std::string>&> declared[] = {
      {"keyword_fields", index.keyword_fields},
      {"number_fields", index.number_fields},
      {"analyzed_fields", index.analyzed_fields}};
  std::map<std::string, const char*> lists;  // by key
  for (const auto& [list, keys] : declared) {
    for (const std::string& key : keys) {
      const auto [first, is_new] = lists.try_emplace(key, list);
      if (is_new) continue;
      all.push_back({find_key("index", list), 0,
                     fmt::format("the key \"{}\" is declared twice, in {} and {}", key, first->second, list),
                     "declare it once, as what its values are"});
    }
  }
  const FirstStageConfig& first_stage = config.first_stage;
  const auto is_contents = [&](const std::string& text) {
    const auto field = parse_weighted_field(text);
    return field && field->name == index.contents_field;
  };
  if (first_stage.rm3 && !std::ranges::all_of(first_stage.fields, is_contents)) {
    all.push_back({find_key("first_stage", "rm3"), 0,
                   fmt::format("rm3 expands queries of {} alone, but fields names {}", index.contents_field,
                               join(first_stage.fields)),
                   "unset one of them"});
  }
  if (const auto& language = config.index.language;
      language && config.first_stage.analyzer != AnalyzerKind::english && config.first_stage.analyzer != *language) {
    all.push_back({find_key("first_stage", "analyzer"), 0,
                   fmt::format("analyzer = \"{}\" contradicts [index] language = \"{}\"",
                               to_string(config.first_stage.analyzer), to_string(*language)),
                   "set [index] language alone"});
  }
  const std::vector<StageConfig>& stages = config.rescorer.stages;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (Conflict& found : conflicts_of(stages[i], i + 1)) all.push_back(std::move(found));
    if (i > 0 && stages[i].window > stages[i - 1].window) {
      all.push_back({find_key("rescorer", "window"), i + 1,
                     fmt::format("window = {} is above the window of the stage before, {}", stages[i].window,
                                 stages[i - 1].window),
                     "a stage rescores the best hits of the stage before: let the windows become smaller"});
    }
  }
  return all;
}

}  // namespace relucent::config

namespace relucent {

std::string_view to_string(ScoreMode value) noexcept { return config::name_of(value); }
std::string_view to_string(Normalize value) noexcept { return config::name_of(value); }
std::string_view to_string(FirstStageScoring value) noexcept { return config::name_of(value); }
std::string_view to_string(OnError value) noexcept { return config::name_of(value); }
std::string_view to_string(MissingEmbeddings value) noexcept { return config::name_of(value); }
std::string_view to_string(LongDocuments value) noexcept { return config::name_of(value); }
std::string_view to_string(ChunkBy value) noexcept { return config::name_of(value); }
std::string_view to_string(KeepChunks value) noexcept { return config::name_of(value); }
std::string_view to_string(IndexCheck value) noexcept { return config::name_of(value); }
std::string_view to_string(PatternChoice value) noexcept { return config::name_of(value); }

PatternChoice parse_pattern(std::string_view name) {
  if (const auto value = config::value_named<PatternChoice>(name)) return *value;
  throw Error(ErrorKind::usage, {}, fmt::format("unknown attention pattern {}", name),
              "give checkpoint, full, local, longformer, qds or sparse");
}
std::string_view to_string(AnalyzerKind value) noexcept { return config::name_of(value); }
std::string_view to_string(FallbackDevice value) noexcept { return config::name_of(value); }
std::string_view to_string(MissingGraphs value) noexcept { return config::name_of(value); }
std::string_view to_string(LogLevel value) noexcept { return config::name_of(value); }

std::optional<AnalyzerKind> analyzer_from(std::string_view name) noexcept {
  return config::value_named<AnalyzerKind>(name);
}

std::optional<AnalyzerKind> language_from(std::string_view name) noexcept {
  constexpr std::pair<std::string_view, AnalyzerKind> codes[] = {
      {"ar", AnalyzerKind::arabic},     {"bn", AnalyzerKind::bengali}, {"de", AnalyzerKind::german},
      {"en", AnalyzerKind::english},    {"es", AnalyzerKind::spanish}, {"fa", AnalyzerKind::persian},
      {"fi", AnalyzerKind::finnish},    {"fr", AnalyzerKind::french},  {"hi", AnalyzerKind::hindi},
      {"id", AnalyzerKind::indonesian}, {"it", AnalyzerKind::italian}, {"ja", AnalyzerKind::japanese},
      {"ko", AnalyzerKind::korean},     {"nl", AnalyzerKind::dutch},   {"pt", AnalyzerKind::portuguese},
      {"ru", AnalyzerKind::russian},    {"sv", AnalyzerKind::swedish}, {"th", AnalyzerKind::thai},
      {"tr", AnalyzerKind::turkish},    {"zh", AnalyzerKind::chinese},
  };
  const std::string lower = lower_ascii(name);
  for (const auto& [code, language] : codes) {
    if (lower == code) return language;
  }
  return analyzer_from(lower);
}

AnalyzerKind parse_language(std::string_view name, const std::string& place) {
  if (const auto language = language_from(name)) return *language;
  throw Error(ErrorKind::usage, place, fmt::format("unknown language \"{}\"", name),
              "give " + config::find_key("index", "language")->allowed);
}

}  // namespace relucent
