#include "config/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "config/names.h"
#include "relucent/threads.h"

namespace relucent::config {
namespace {

struct WholeNumber {
  std::int64_t low, high;
};
struct Number {
  double low, high;  // inclusive; neither NaN nor infinity ever passes
};
struct Text {
  std::string allowed;
  std::function<bool(const std::string&)> passes;
  bool is_path = false;
};

Text any_path(std::string allowed) {
  return {std::move(allowed), [](const std::string&) { return true; }, true};
}

Text one_of(std::vector<std::string> names) {
  return {join(names, " | "),
          [names](const std::string& value) { return std::find(names.begin(), names.end(), value) != names.end(); }};
}

bool is_device(const std::string& value) {
  if (value == "auto" || value == "ref" || value == "cpu" || value == "cuda") return true;
  const std::string_view prefix = "cuda:";
  if (!value.starts_with(prefix)) return false;
  const std::string_view number = std::string_view(value).substr(prefix.size());
  return !number.empty() && number.size() <= 3 && number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string plain(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  return std::string(buffer, end);
}

template <class Access>
Key switch_key(std::string section, std::string name, Access access, std::string meaning) {
  Key key{std::move(section), std::move(name), Type::boolean, "true | false", std::move(meaning), false, {}, {}, {}};
  key.get = [access](const Config& config) -> Value { return access(const_cast<Config&>(config)); };
  key.set = [access](Config& config, const Value& value) { access(config) = std::get<bool>(value); };
  key.is_allowed = [](const Value&) { return true; };
  return key;
}

// For std::int32_t and std::optional<std::int32_t>.
template <class Access>
Key whole_number_key(std::string section, std::string name, Access access, WholeNumber range, std::string meaning) {
  std::string allowed = "whole number, " + std::to_string(range.low) + " to " + std::to_string(range.high);
  Key key{
      std::move(section), std::move(name), Type::integer, std::move(allowed), std::move(meaning), false, {}, {}, {}};
  key.get = [access](const Config& config) -> Value {
    const auto& field = access(const_cast<Config&>(config));
    if constexpr (requires { field.has_value(); }) {
      if (!field) return {};
      return static_cast<std::int64_t>(*field);
    } else {
      return static_cast<std::int64_t>(field);
    }
  };
  key.set = [access](Config& config, const Value& value) {
    access(config) = static_cast<std::int32_t>(std::get<std::int64_t>(value));
  };
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
  std::string allowed = bounded ? "number, " + plain(range.low) + " to " + plain(range.high) : "finite number";
  Key key{std::move(section), std::move(name), Type::number, std::move(allowed), std::move(meaning), false, {}, {}, {}};
  key.get = [access](const Config& config) -> Value {
    const auto& field = access(const_cast<Config&>(config));
    if constexpr (requires { field.has_value(); }) {
      if (!field) return {};
      return *field;
    } else {
      return field;
    }
  };
  key.set = [access](Config& config, const Value& value) { access(config) = std::get<double>(value); };
  key.is_allowed = [range](const Value& value) {
    const double number = std::get<double>(value);
    return std::isfinite(number) && number >= range.low && number <= range.high;
  };
  return key;
}

template <class Access>
Key text_key(std::string section, std::string name, Access access, Text rule, std::string meaning) {
  Key key{std::move(section), std::move(name), Type::text, rule.allowed, std::move(meaning), rule.is_path, {}, {}, {}};
  key.get = [access](const Config& config) -> Value { return access(const_cast<Config&>(config)); };
  key.set = [access](Config& config, const Value& value) { access(config) = std::get<std::string>(value); };
  key.is_allowed = [passes = rule.passes](const Value& value) {
    const auto& text = std::get<std::string>(value);
    return text.find('\0') == std::string::npos && passes(text);
  };
  return key;
}

template <class Access>
Key choice_key(std::string section, std::string name, Access access, std::string meaning) {
  using Enum = std::remove_reference_t<decltype(access(std::declval<Config&>()))>;
  std::vector<std::string> names;
  for (const auto& entry : Names<Enum>::all) names.emplace_back(entry.second);
  Text rule = one_of(names);
  Key key{std::move(section), std::move(name), Type::text, rule.allowed, std::move(meaning), false, {}, {}, {}};
  key.get = [access](const Config& config) -> Value {
    return std::string(name_of(access(const_cast<Config&>(config))));
  };
  key.set = [access](Config& config, const Value& value) {
    for (const auto& [candidate, candidate_name] : Names<Enum>::all) {
      if (candidate_name == std::get<std::string>(value)) access(config) = candidate;
    }
  };
  key.is_allowed = [passes = rule.passes](const Value& value) { return passes(std::get<std::string>(value)); };
  return key;
}

// A field of the configuration, as a function from Config& to a reference.
#define FIELD(path) \
  [](Config & config) -> auto& { return config.path; }

std::vector<Key> make_schema() {
  const auto is_name = [](const std::string& value) { return !value.empty(); };
  const Number any_finite{-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  const Number weight{-1e6, 1e6};
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  return {
      text_key("index", "path", FIELD(index.path), any_path("a folder's path, or empty"),
               "The index's folder where none is named otherwise."),
      text_key("index", "id_field", FIELD(index.id_field), {"a field's name, not empty", is_name},
               "The stored field with a document's external id."),
      text_key("index", "text_field", FIELD(index.text_field), {"a field's name, not empty", is_name},
               "The stored field whose text the rescorer reads."),
      text_key("index", "contents_field", FIELD(index.contents_field), {"a field's name, not empty", is_name},
               "The indexed field that BM25 searches."),
      switch_key("index", "token_ids", FIELD(index.token_ids),
                 "Whether `relucent index` stores the token ids of [rescorer] model with each text, so that searching "
                 "need not make them."),
      choice_key(
          "index", "verify", FIELD(index.verify),
          "What is checked when an index is opened: structure lets nothing damaged be used, checksums reads every byte "
          "at once, none checks names and sizes alone."),

      number_key("first_stage", "k1", FIELD(first_stage.k1), {0, 1000},
                 "BM25's k1: how slowly a repeated term's weight saturates."),
      number_key("first_stage", "b", FIELD(first_stage.b), {0, 1},
                 "BM25's b: how much long documents are marked down; 0 is not at all."),
      text_key("first_stage", "analyzer", FIELD(first_stage.analyzer), one_of({"english", "whitespace", "standard"}),
               "How text becomes terms; must be what the index was made with."),
      whole_number_key("first_stage", "hits", FIELD(first_stage.hits), {1, 1'000'000},
                       "How many hits the program asks for where no number is given."),

      switch_key("rescorer", "enabled", FIELD(rescorer.enabled), "false gives plain BM25; no model is loaded then."),
      text_key("rescorer", "module", FIELD(rescorer.module),
               {std::string(kBuiltInModule) + " | a shared object's path", is_name, true},
               "What scores the candidates: the built-in cross-encoder or a module of your own."),
      text_key("rescorer", "model", FIELD(rescorer.model), any_path("a folder's path, or empty"),
               "The checkpoint's folder (Hugging Face layout); empty is the bundled one."),
      text_key(
          "rescorer", "device", FIELD(rescorer.device), {"auto | ref | cpu | cuda:N | cuda", is_device},
          "Where the model runs; auto takes a GPU where one works, else the CPU; cuda:N is GPU number N, cuda spreads "
          "queries over all GPUs of the first one's kind; ref is slow plain code."),
      text_key(
          "rescorer", "fallback_device", FIELD(rescorer.fallback_device), one_of({"cpu", "none"}),
          "What answers where the GPU is absent or fails, marked degraded: the CPU, whose model is loaded at the first "
          "failure, or nothing, so that on_error decides."),
      text_key(
          "rescorer", "precision", FIELD(rescorer.precision), one_of({"auto", "fp32", "tf32", "bf16", "fp16", "int8"}),
          "What the model computes in; auto is the fastest that holds the documented tolerances. fp16 and tf32 need a "
          "GPU, int8 the CPU."),
      whole_number_key("rescorer", "threads", FIELD(rescorer.threads), {0, kMaxThreads},
                       "Threads of the CPU backend; 0 is every core this process may use."),
      whole_number_key("rescorer", "window", FIELD(rescorer.window), {1, 100'000},
                       "The rescore window: how many first-stage hits are rescored, whatever page is asked for."),
      whole_number_key("rescorer", "max_length", FIELD(rescorer.max_length), {0, 1'000'000},
                       "Longest input in tokens, query included; 0 is what the checkpoint says."),
      whole_number_key("rescorer", "attention_window", FIELD(rescorer.attention_window), {-1, 1'000'000},
                       "Overrides the checkpoint's attention window w; -1 is unlimited, unset keeps the checkpoint's."),
      choice_key(
          "rescorer", "score_mode", FIELD(rescorer.score_mode),
          "How first-stage score and logit become one: replace takes the logit alone, total the weighted sum, avg "
          "half of it, multiply the product, max and min the larger and the smaller."),
      number_key("rescorer", "query_weight", FIELD(rescorer.query_weight), weight,
                 "Weight of the first-stage score (no effect in replace)."),
      number_key("rescorer", "rescore_weight", FIELD(rescorer.rescore_weight), weight, "Weight of the logit."),
      choice_key(
          "rescorer", "normalize", FIELD(rescorer.normalize),
          "Applied to both scores before weighting: minmax maps the window's scores to 0..1, sigmoid each score x "
          "to 1/(1+exp(-x))."),
      number_key("rescorer", "min_score", FIELD(rescorer.min_score), any_finite,
                 "The answer ends before the first hit whose combined score is lower; unset keeps all."),
      whole_number_key("rescorer", "timeout_ms", FIELD(rescorer.timeout_ms), {0, largest},
                       "Deadline in milliseconds of everything after BM25; past it, on_error decides; 0 is no limit."),
      choice_key(
          "rescorer", "on_error", FIELD(rescorer.on_error),
          "After a failure or a missed deadline: first_stage answers in BM25's order, marked degraded; fail raises "
          "the error."),
      choice_key(
          "rescorer", "long_documents", FIELD(rescorer.long_documents),
          "A document that does not fit: truncate cuts it, maxp takes its best chunk, firstp its first, sump the "
          "chunks' sum."),
      whole_number_key("rescorer", "chunk", FIELD(rescorer.chunk), {1, 1'000'000},
                       "Word pieces of a document in one chunk (maxp, firstp, sump)."),
      whole_number_key("rescorer", "stride", FIELD(rescorer.stride), {1, 1'000'000},
                       "Word pieces from one chunk's start to the next one's; at most chunk."),
      whole_number_key("rescorer", "max_chunks", FIELD(rescorer.max_chunks), {0, 1'000'000},
                       "Most chunks of a document that are read (maxp, sump): the first and those that share most with "
                       "the query; 0 is all."),

      text_key("log", "level", FIELD(log.level), one_of({"trace", "debug", "info", "warning", "error", "off"}),
               "The least serious message that is written."),
      text_key("log", "file", FIELD(log.file), any_path("a file's path, or empty"),
               "Where messages go; empty is standard error."),
  };
}

#undef FIELD

}  // namespace

const std::vector<Key>& schema() {
  static const std::vector<Key> keys = make_schema();
  return keys;
}

std::string_view section_meaning(std::string_view section) {
  if (section == "index") return "The index and its fields.";
  if (section == "first_stage") return "BM25.";
  if (section == "rescorer") return "The second stage: rescoring BM25's best hits with a cross-encoder.";
  if (section == "log") return "Messages; results never go there.";
  return "";
}

Conflict find_conflict(const Config& config) {
  const auto key_of = [](std::string_view section, std::string_view name) -> const Key* {
    for (const auto& key : schema()) {
      if (key.section == section && key.name == name) return &key;
    }
    return nullptr;
  };
  if (config.rescorer.stride > config.rescorer.chunk) {
    return {key_of("rescorer", "stride"),
            "stride = " + std::to_string(config.rescorer.stride) + " is above chunk = " +
                std::to_string(config.rescorer.chunk) + ", so that words between chunks would never be read",
            "make stride at most chunk"};
  }
  return {};
}

}  // namespace relucent::config

namespace relucent {

std::string_view to_string(ScoreMode value) noexcept { return config::name_of(value); }
std::string_view to_string(Normalize value) noexcept { return config::name_of(value); }
std::string_view to_string(OnError value) noexcept { return config::name_of(value); }
std::string_view to_string(LongDocumentMode value) noexcept { return config::name_of(value); }
std::string_view to_string(IndexCheck value) noexcept { return config::name_of(value); }

}  // namespace relucent
