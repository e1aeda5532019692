#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/collection_statistics.h"
#include "relucent/config.h"
#include "relucent/score_cache.h"
#include "relucent/scorer.h"
#include "relucent/search_session.h"
#include "relucent/stop.h"
#include "server/trace.h"

namespace relucent::server {

/// What a model's scores are.
enum class ScoreMeaning {
  logit,
  log_probability,  ///< monoT5
  similarity,       ///< late interaction: no probability follows from it
};

/// The scores of a query's texts.
struct RerankScores {
  std::vector<CandidateScore> scores;  ///< one per text; of an unreadable one the lowest
  StageTimes times;                    ///< tokenize and encode
  std::string fallback;                ///< why another device than the configured one scored; usually empty
  ScoreMeaning meaning = ScoreMeaning::logit;
};

/// The model, as /info describes it.
struct ModelInfo {
  std::string name;         ///< without its folder
  std::string description;  ///< one line: scorer, device, limits; without paths
  std::string precision;    ///< "fp32", "bf16" ...; empty: unknown
  std::int32_t max_length = 0;
  ScoreMeaning meaning = ScoreMeaning::logit;
};

struct SearchOrder : SearchRequest {
  bool rescore = true;                  ///< false: BM25 alone
  const TraceContext* trace = nullptr;  ///< what shards are told; null: nothing
};

/// The model and the index of one moment. Requests hold the one with which they began, so that a reload waits for
/// nobody. Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;
  /// All throw Error: `deadline` or `interrupted` when `stop` is due.
  virtual RerankScores rerank(std::string_view query, std::span<const std::string> texts, const StopSignal& stop) = 0;
  /// After a missed deadline the first stage's order, marked degraded, unless the profile has on_error = "fail".
  virtual SearchResult search(const SearchOrder& order) = 0;
  /// The index's part of the statistics that the BM25 scores of the order's query depend on, which also has its
  /// search_fields.
  virtual CollectionStatistics statistics(const SearchOrder& order) = 0;
  /// The document with this id; nothing if there is none. `trace` as in SearchOrder.
  virtual std::optional<StoredDocument> document(std::string_view id, const StopSignal& stop,
                                                 const TraceContext* trace) = 0;
  virtual bool can_rerank() const = 0;
  virtual bool can_search() const = 0;
  virtual const ModelInfo& model() const = 0;
  /// Counts of all stages; zeros without `[rescorer] cache_mb`.
  virtual ScoreCacheCounts cache() const = 0;
  /// With the same settings and model, on a commit of the index that is newer than this engine's; null if there is
  /// none. Throws Error if there is one that cannot be opened.
  virtual std::shared_ptr<Engine> refreshed() = 0;

  /// The index of this name; empty: the one for requests that name none. Throws Refusal with the names that exist.
  virtual Engine& index(std::string_view name);
  /// The names of the indexes, the default first; none: the only index has no name.
  virtual std::vector<std::string> indexes() const { return {}; }
  /// The fields of the only index; null: there are several indexes, or none, or others have them.
  virtual const IndexConfig* fields() const { return nullptr; }
  /// The index of this name, to reload it; null: there is none.
  virtual std::shared_ptr<Engine> engine_of(std::string_view) const { return nullptr; }
};

/// Loads the model, and opens the index if `index` or [index] path names one. Shares with `before`, which open_engine()
/// made too, the model and the unchanged parts of the index, and with `other`, over another index, the model if it is
/// the same. Throws Error.
std::shared_ptr<Engine> open_engine(const std::filesystem::path& index, const Config& config,
                                    const std::shared_ptr<Engine>& before = nullptr,
                                    const std::shared_ptr<Engine>& other = nullptr);

/// An index by its name in requests.
struct NamedEngine {
  std::string name;
  std::shared_ptr<Engine> engine;
};

/// Whether requests and metrics can name an index so: up to 64 letters, digits, '.', '_' and '-', not a sign first.
bool is_index_name(std::string_view name);

/// Several indexes as one engine: Engine::index() finds them by their names, and whoever names none gets the first.
/// Texts are reranked with the first one's model. refreshed() refreshes each by itself: one that cannot be reopened
/// stays as it is. `engines` is not empty.
std::shared_ptr<Engine> make_indexes(std::vector<NamedEngine> engines);

/// An engine whose index is divided among other servers, its shards (`relucent serve --index`), which search by BM25
/// with the statistics of the whole collection. Their hits become one list, whose best ones this engine's own model
/// rescores, so that every score is that of one index of all documents. Equal BM25 scores keep the order of the shards.
/// @param urls   http://HOST:PORT, in the order of the documents
/// @param token  for the shards; empty: none
/// Throws Error: `usage` for an address, `unsupported` for a model that needs more than texts.
std::shared_ptr<Engine> open_shards(const std::vector<std::string>& urls, const std::string& token,
                                    const Config& config);

}  // namespace relucent::server
