#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/candidate_inputs.h"
#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/stop.h"
#include "relucent/text_range.h"
#include "relucent/times.h"

namespace relucent {

/// What a candidate has besides its text.
struct CandidateInput {
  std::string_view kind;   ///< InputKind::name()
  std::string_view bytes;  ///< in the form of its kind
};

/// One hit handed to a scorer. Views live as long as the call.
struct Candidate {
  std::string_view id;    ///< the document's external id; may be empty
  std::string_view text;  ///< UTF-8; when passed to a Scorer, empty only if an input stands for it
  double first_stage_score = 0;
  std::int32_t first_stage_rank = 0;  ///< from 1
  /// As far as the candidate has inputs of the kinds that Scorer::inputs() names.
  std::vector<CandidateInput> inputs = {};

  /// The input of a kind, by its name.
  std::optional<std::string_view> input(std::string_view kind) const {
    for (const CandidateInput& one : inputs) {
      if (one.kind == kind) return one.bytes;
    }
    return std::nullopt;
  }
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
  /// The kinds of input that it reads besides texts: always the same objects.
  virtual InputKinds inputs() const { return {}; }
  /// Whether all of a candidate's CandidateScore depends only on the query and on the candidate's text and inputs, as
  /// long as this scorer exists, so that `[rescorer] cache_mb` may keep it for later queries. By default it is not
  /// kept, because a scorer may read the candidate's id, rank or first-stage score.
  virtual bool cacheable() const { return false; }
  /// One line for explain() and logs: the kind of scorer, its device and its checkpoint.
  virtual std::string describe() const = 0;
  /// A note for the user, e.g. why no GPU is used; empty if there is none. Logged once.
  virtual std::string notice() const { return {}; }
  /// What a user should know before trusting the scores; empty if there is nothing. Logged once as a warning.
  virtual std::string warning() const { return {}; }
};

/// The embeddings that a scorer reads; null if it reads none.
RELUCENT_API std::shared_ptr<const EmbeddingKind> embeddings_of(const Scorer& scorer);

/// Creates the scorer selected by [rescorer] module: "cross-encoder", or the path of a shared object that exports
///   extern "C" const int relucent_scorer_abi;  // = kScorerAbi
///   // The caller owns the returned scorer; may throw Error.
///   extern "C" relucent::Scorer* relucent_make_scorer(const relucent::ScorerConfig&);
/// Throws Error. If a GPU is unavailable and fallback_device = "none", only with on_error = "fail": otherwise each
/// search tries again.
RELUCENT_API std::shared_ptr<const Scorer> make_scorer(const ScorerConfig& config,
                                                       OnError on_error = OnError::first_stage);

inline constexpr int kScorerAbi = 11;

}  // namespace relucent

/// Use once, at namespace scope, in your own module; TYPE must be constructible from const ScorerConfig&.
#define RELUCENT_SCORER_MODULE(TYPE)                                                                         \
  extern "C" RELUCENT_API const int relucent_scorer_abi = ::relucent::kScorerAbi;                            \
  extern "C" RELUCENT_API ::relucent::Scorer* relucent_make_scorer(const ::relucent::ScorerConfig& config) { \
    return new TYPE(config);                                                                                 \
  }
