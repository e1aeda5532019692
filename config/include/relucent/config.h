#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/analyzer_kind.h"
#include "relucent/device.h"
#include "relucent/export.h"
#include "relucent/index_check.h"
#include "relucent/text_reading.h"

namespace relucent {

enum class ScoreMode { replace, total, multiply, avg, max, min };
enum class Normalize { none, minmax, sigmoid };
/// How the first stage scores a document: BM25, or the query's likelihood with Dirichlet or Jelinek-Mercer smoothing.
enum class FirstStageScoring { bm25, qld, qljm };
enum class OnError { first_stage, previous_stage, fail };
/// What to do about a hit whose embedding the index lacks.
enum class MissingEmbeddings { error, encode };
enum class FallbackDevice { cpu, none };
/// What a MIR does about documents whose graphs are not stored.
enum class MissingGraphs { error, make };
enum class LogLevel { trace, debug, info, warning, error, off };

/// Section `[index]` of a profile.
struct IndexConfig {
  std::string path;                           ///< the default index directory
  std::string id_field = "id";                ///< stored, not analyzed
  std::string text_field = "text";            ///< stored; what the rescorer reads
  std::string contents_field = "contents";    ///< indexed; what BM25 searches
  bool token_ids = false;                     ///< whether indexing also stores the token ids of [rescorer] model
  IndexCheck verify = IndexCheck::structure;  ///< what is checked when the index is opened
  std::vector<std::string> text_fields;       ///< stored; what the rescorer reads instead of text_field, unless empty
  std::optional<AnalyzerKind> language = {};  ///< of the documents; unset: [first_stage] analyzer, or the index's own
  /// Keys of the documents' metadata that indexing makes filters of, as texts and as numbers.
  std::vector<std::string> keyword_fields = {}, number_fields = {};
  std::vector<std::string> analyzed_fields = {};  ///< keys whose texts indexing makes fields of, to be searched

  /// The stored fields that the rescorer reads, in order: text_fields, or text_field alone.
  std::vector<std::string> fields_read() const {
    return text_fields.empty() ? std::vector<std::string>{text_field} : text_fields;
  }

  friend bool operator==(const IndexConfig&, const IndexConfig&) = default;
};

/// FirstStageConfig::count: all matches are counted.
inline constexpr std::int32_t kExactCount = 0;
/// FirstStageConfig::count of the program, the server and Python, where the profile does not state it.
inline constexpr std::int32_t kCountOfPrograms = 1000;

/// Section `[first_stage]` of a profile.
struct FirstStageConfig {
  FirstStageScoring scoring = FirstStageScoring::bm25;
  double k1 = 0.9;
  double b = 0.4;
  AnalyzerKind analyzer = AnalyzerKind::english;  ///< the one that built the index
  std::int32_t hits = 100;                        ///< the program's default number of hits
  /// Matches are counted up to this number, or to the number of hits if that is larger; kExactCount: all. Unset: all,
  /// and kCountOfPrograms in the program, the server and Python.
  std::optional<std::int32_t> count;
  double mu = 1000;                  ///< qld's: how many tokens the collection's language model counts for
  double lambda = 0.1;               ///< qljm's: the weight of the collection's language model
  bool rm3 = false;                  ///< whether queries are expanded with terms of their best hits
  std::int32_t rm3_terms = 10;       ///< per query
  std::int32_t rm3_documents = 10;   ///< the hits that the terms are taken from
  double rm3_original_weight = 0.5;  ///< the weight of the query's own terms; 1 minus it is the new ones'
  bool rm3_ascii_terms = true;       ///< whether only terms of a to z and 0 to 9 are added
  /// The indexed fields that are searched, each as "NAME" or "NAME^WEIGHT"; empty: IndexConfig::contents_field alone.
  std::vector<std::string> fields = {};

  friend bool operator==(const FirstStageConfig&, const FirstStageConfig&) = default;
};

/// How documents and queries become terms: [index] language, or [first_stage] analyzer if that is unset.
inline AnalyzerKind analyzer_of(const IndexConfig& index, const FirstStageConfig& first_stage) {
  return index.language.value_or(first_stage.analyzer);
}

/// What scores, and how it reads texts.
struct ScorerConfig : TextReading {
  // In braces, because Doxygen 1.9.8 takes `module =` for a C++20 module.
  std::string module{"cross-encoder"};  ///< the built-in scorer, or the path of a shared object
  std::string model;                    ///< checkpoint folder; empty: the bundled one
  Device device;
  FallbackDevice fallback_device = FallbackDevice::cpu;  ///< what scores if the GPU fails
  Precision precision = Precision::automatic;
  std::int32_t threads = 0;  ///< 0: every core this process may use

  friend bool operator==(const ScorerConfig&, const ScorerConfig&) = default;
};

/// A scorer, which hits it scores, and what becomes of its scores.
struct StageConfig : ScorerConfig {
  std::int32_t window = 100;  ///< rescore window: how many hits are rescored
  ScoreMode score_mode = ScoreMode::replace;
  double query_weight = 1.0;    ///< of the first-stage score
  double rescore_weight = 1.0;  ///< of the logit
  Normalize normalize = Normalize::none;
  MissingEmbeddings missing_embeddings = MissingEmbeddings::error;  ///< for scorers that read embeddings
  MissingGraphs missing_graphs = MissingGraphs::error;
  std::int32_t cache_mb = 0;  ///< memory for scores that are kept for repeated queries; 0: none are

  friend bool operator==(const StageConfig&, const StageConfig&) = default;
};

/// The second stage: one stage, whose settings it has itself, or several.
struct SecondStageConfig : StageConfig {
  bool enabled = true;
  std::optional<double> min_score;       ///< hits whose combined score is lower are dropped
  std::chrono::milliseconds timeout{0};  ///< of everything after BM25; 0: no limit
  OnError on_error = OnError::first_stage;
  bool find_passages = true;  ///< whether hits name the part of their text that scored best
  /// One after another, each on the best hits of the one before; empty: its own settings are the only stage.
  std::vector<StageConfig> stages;

  /// The stages as they run, at least one.
  std::vector<StageConfig> effective_stages() const {
    return stages.empty() ? std::vector<StageConfig>{*this} : stages;
  }
  /// How many first-stage hits are rescored.
  std::int32_t first_window() const { return stages.empty() ? window : stages.front().window; }

  friend bool operator==(const SecondStageConfig&, const SecondStageConfig&) = default;
};

/// Section `[log]` of a profile.
struct LogConfig {
  LogLevel level = LogLevel::warning;  ///< the least serious message that is written
  std::string file;                    ///< empty: standard error

  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

/// `relucent serve`; docs/serving.md. Sizes are in bytes.
struct ServerConfig {
  std::string host = "127.0.0.1";  ///< an address of this machine; "0.0.0.0" or "::" for all
  std::int32_t port = 8080;        ///< 0: any free one
  std::string token_file;          ///< bearer tokens, one per line; empty: $RELUCENT_TOKEN, or no tokens
  std::string client_header;       ///< a header in which a trusted proxy names the client; empty: its address counts
  std::string model_name;          ///< in answers; empty: the last part of the checkpoint's path
  std::string access_log = "-";    ///< a file; "-": standard output; empty: none
  std::string otlp_endpoint;       ///< a collector's URL, to which spans are sent; empty: none
  std::int32_t concurrency = 0;    ///< requests computed at the same time; 0: two per core, at most 8
  std::int32_t queue = 256;        ///< requests waiting to be computed
  std::int32_t connections = 512;
  std::int32_t header_bytes = 16 << 10;  ///< of a request's line and headers
  std::int32_t body_bytes = 4 << 20;
  std::int32_t text_bytes = 1 << 20;  ///< of a query or a text
  std::int32_t texts = 1000;          ///< per request
  std::int32_t hits = 1000;           ///< per search
  std::int32_t explained_hits = 10;
  std::chrono::milliseconds request_timeout{60'000};  ///< the default and the longest deadline of a request
  std::chrono::milliseconds read_timeout{10'000};     ///< from a request's first byte to its last one
  std::chrono::milliseconds idle_timeout{60'000};     ///< between two requests on a connection
  std::chrono::milliseconds write_timeout{30'000};    ///< until the client has taken an answer
  std::chrono::milliseconds drain_timeout{3'000};     ///< from SIGTERM until what still runs is dropped

  friend bool operator==(const ServerConfig&, const ServerConfig&) = default;
};

/// A profile (docs/configuration.md).
struct Config {
  IndexConfig index;
  FirstStageConfig first_stage;
  SecondStageConfig rescorer;
  LogConfig log;
  ServerConfig server;

  friend bool operator==(const Config&, const Config&) = default;
};

/// Reads a TOML file. Strict: an unknown section or key, a wrong type or a value out of range throws Error
/// `invalid_data`, whose place is "file:line:column" and whose remedy names the nearest known key or the allowed
/// values. An unreadable file throws Error `io`. Relative paths in the profile (index, model, module, log file) are
/// resolved against the profile's folder and returned as absolute paths.
RELUCENT_API Config load_config(const std::filesystem::path& file);
/// The same for TOML text; errors use `name` as the file name. Relative paths are left as written.
RELUCENT_API Config parse_config(std::string_view toml, std::string_view name);
/// Applies load_config's rules to a Config that a program filled in itself. Throws Error `usage` naming the key.
RELUCENT_API void check_config(const Config& config);
/// Every key with its effective value and a comment, as TOML. parse_config reads it back to the same Config. A key
/// without a value (min_score, attention_window) becomes a comment.
RELUCENT_API std::string to_toml(const Config& config);

/// The value's name in a profile.
RELUCENT_API std::string_view to_string(ScoreMode value) noexcept;
RELUCENT_API std::string_view to_string(Normalize value) noexcept;
RELUCENT_API std::string_view to_string(FirstStageScoring value) noexcept;
RELUCENT_API std::string_view to_string(OnError value) noexcept;
RELUCENT_API std::string_view to_string(MissingEmbeddings value) noexcept;
RELUCENT_API std::string_view to_string(LongDocuments value) noexcept;
RELUCENT_API std::string_view to_string(ChunkBy value) noexcept;
RELUCENT_API std::string_view to_string(KeepChunks value) noexcept;
RELUCENT_API std::string_view to_string(IndexCheck value) noexcept;
RELUCENT_API std::string_view to_string(PatternChoice value) noexcept;
RELUCENT_API std::string_view to_string(AnalyzerKind value) noexcept;
RELUCENT_API std::string_view to_string(FallbackDevice value) noexcept;
RELUCENT_API std::string_view to_string(MissingGraphs value) noexcept;
RELUCENT_API std::string_view to_string(LogLevel value) noexcept;

/// The pattern of that name. Throws Error `usage`.
RELUCENT_API PatternChoice parse_pattern(std::string_view name);
/// The analyzer of that name, as indexes record it; nothing for an unknown one.
RELUCENT_API std::optional<AnalyzerKind> analyzer_from(std::string_view name) noexcept;
/// The analyzer of a language by its English name ("german") or ISO 639-1 code ("de"), in any case; also the names of
/// the analyzers for all others. Nothing for an unknown one.
RELUCENT_API std::optional<AnalyzerKind> language_from(std::string_view name) noexcept;
/// The same for a value that a user gave as `place`. Throws Error `usage`, which lists the names.
RELUCENT_API AnalyzerKind parse_language(std::string_view name, const std::string& place);

/// One key's documentation, the source of docs/configuration.md and `relucent config show`.
struct ConfigKey {
  std::string section, name;
  std::string type;           ///< the allowed values, in words: "whole number, 1 to 100000"
  std::string default_value;  ///< as TOML; "unset" for a key without one
  std::string meaning;
};
RELUCENT_API const std::vector<ConfigKey>& config_keys();

}  // namespace relucent
