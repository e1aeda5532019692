#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/stop.h"
#include "relucent/text_range.h"
#include "relucent/times.h"

namespace relucent {

class PassageModel;

/// A text's token ids as stored in the index, without special tokens.
struct CandidateTokens {
  std::span<const std::int32_t> ids;
  bool all = true;  ///< false: only the first ids of the text
};

/// The numbers that a scorer can read instead of a text, made by Scorer::encode() before any query arrives.
struct EmbeddingShape {
  std::uint64_t fingerprint = 0;  ///< of everything that decides them; the same for scorers that encode alike
  std::int32_t rows = 0;          ///< vectors per candidate; 0: the scorer reads only texts
  std::int32_t hidden = 0;        ///< numbers per vector

  std::size_t values() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(hidden); }
  friend bool operator==(const EmbeddingShape&, const EmbeddingShape&) = default;
};

/// One hit handed to a scorer. Views live as long as the call.
struct Candidate {
  std::string_view id;    ///< the document's external id; may be empty
  std::string_view text;  ///< UTF-8; when passed to a Scorer, usually empty only if there is an embedding
  double first_stage_score = 0;
  std::int32_t first_stage_rank = 0;  ///< from 1
  /// Set if the index stores the ids of the tokenizer returned by Scorer::tokenizer(). A shortcut only: tokenizing the
  /// text gives the same ids.
  std::optional<CandidateTokens> tokens = {};
  /// [rows][hidden] of Scorer::embedding_shape(), if the index stores the candidate's embedding; otherwise empty.
  std::span<const float> embedding = {};
  /// The record of the document's graph, for a scorer with a Scorer::passage_model(). Depends on the document and the
  /// index alone.
  std::optional<std::string_view> graph = {};
};

/// A scorer's answer for one candidate.
struct CandidateScore {
  float score = 0;               ///< raw; higher is better
  std::int32_t tokens = 0;       ///< 0 if the scorer does not count them
  bool truncated = false;        ///< the scorer did not see the end of the text
  bool query_truncated = false;  ///< the scorer did not see the end of the query
  PieceRange best = {};          ///< what Scorer::passage() needs to find the part of the text that scored best
  bool unreadable = false;       ///< the text has nothing that the model reads: ranked like one without text
  bool cached = false;           ///< from a cache of scores (`[rescorer] cache_mb`); scorers leave it false
};

/// A scorer's report on one call.
struct ScoringStats {
  StageTimes times = {};      ///< tokenize and device; the second stage measures the rest
  std::string fallback = {};  ///< why a fallback scored instead of the configured device; empty if none did
};

/// Second-stage scorer: takes a query's text and its candidates' texts, returns one score per candidate. Uses no
/// Lucene++ types, so a module needs only this header. Thread-safe: any number of threads may call score()
/// concurrently.
class RELUCENT_API Scorer {
 public:
  virtual ~Scorer() = default;
  /// `scores` has one entry per candidate. Deterministic: a candidate's score depends only on the query and the
  /// candidate. Throws Error, of kind `deadline` or `interrupted` when `stop` is due.
  virtual void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
                     const StopSignal& stop) const = 0;
  /// score() with a report, for scorers that provide one.
  virtual ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                                   std::span<CandidateScore> scores, const StopSignal& stop) const {
    score(query, candidates, scores, stop);
    return {};
  }
  /// The part of the candidate's text that gave it this score, or the greatest share of it, as bytes of whole
  /// characters; nullopt: unknown. Called after scoring, for the hits returned, with what score() wrote. Throws Error
  /// when `stop` is due.
  virtual std::optional<TextRange> passage(const Candidate& candidate, const CandidateScore& score,
                                           const StopSignal& stop) const {
    static_cast<void>(candidate), static_cast<void>(score), static_cast<void>(stop);
    return std::nullopt;
  }
  /// Tokenizer::fingerprint() of the stored token ids that this scorer can use; 0: it reads only texts.
  virtual std::uint64_t tokenizer() const { return 0; }
  /// The embeddings that this scorer can use; rows = 0: none.
  virtual EmbeddingShape embedding_shape() const { return {}; }
  /// Writes the embeddings of texts (UTF-8, not blank): [texts][rows][hidden]. Called when documents are encoded ahead
  /// of searches, if embedding_shape() has rows; override both or neither: by itself it writes NaN, which cannot be
  /// stored. A text's embedding depends on it alone. Throws Error, of kind `deadline` or `interrupted` when `stop` is
  /// due.
  virtual void encode(std::span<const std::string_view> /*texts*/, std::span<float> embeddings,
                      const StopSignal& /*stop*/) const {
    for (float& number : embeddings) number = std::numeric_limits<float>::quiet_NaN();
  }
  /// Whether all of a candidate's CandidateScore depends only on the query and on the candidate's text, embedding and
  /// graph, as long as this scorer exists, so that `[rescorer] cache_mb` may keep it for later queries. By default it
  /// is not kept, because a scorer may read the candidate's id, rank or first-stage score.
  virtual bool cacheable() const { return false; }
  /// The model of the built-in scorer of a MIR, which needs Candidate::graph; otherwise null.
  virtual const PassageModel* passage_model() const { return nullptr; }
  /// One line for explain() and logs: the kind of scorer, its device and its checkpoint.
  virtual std::string describe() const = 0;
  /// A note for the user, e.g. why no GPU is used; empty if there is none. Logged once.
  virtual std::string notice() const { return {}; }
  /// What a user should know before trusting the scores; empty if there is nothing. Logged once as a warning.
  virtual std::string warning() const { return {}; }
};

/// Creates the scorer selected by [rescorer] module: "cross-encoder", or the path of a shared object that exports
///   extern "C" const int relucent_scorer_abi;  // = kScorerAbi
///   // The caller owns the returned scorer; may throw Error.
///   extern "C" relucent::Scorer* relucent_make_scorer(const relucent::ScorerConfig&);
/// Throws Error. If a GPU is unavailable and fallback_device = "none", only with on_error = "fail": otherwise each
/// search tries again.
RELUCENT_API std::shared_ptr<const Scorer> make_scorer(const ScorerConfig& config,
                                                       OnError on_error = OnError::first_stage);

inline constexpr int kScorerAbi = 8;

}  // namespace relucent

/// Use once, at namespace scope, in your own module; TYPE must be constructible from const ScorerConfig&.
#define RELUCENT_SCORER_MODULE(TYPE)                                                                         \
  extern "C" RELUCENT_API const int relucent_scorer_abi = ::relucent::kScorerAbi;                            \
  extern "C" RELUCENT_API ::relucent::Scorer* relucent_make_scorer(const ::relucent::ScorerConfig& config) { \
    return new TYPE(config);                                                                                 \
  }
