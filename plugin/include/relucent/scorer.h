#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/stop.h"
#include "relucent/times.h"

namespace relucent {

/// Token ids of a text that its index has stored, without special tokens.
struct CandidateTokens {
  std::span<const std::int32_t> ids;
  bool all = true;  ///< false: the text has more, these are the first
};

/// One hit handed to a scorer. Views live as long as the call.
struct Candidate {
  std::string_view id;    ///< the document's external id, may be empty
  std::string_view text;  ///< UTF-8; a Scorer never gets an empty one
  double first_stage_score = 0;
  std::int32_t first_stage_rank = 0;  ///< from 1
  /// Where the index has the ids of the tokenizer that Scorer::tokenizer() names. Only a short cut: the text says the
  /// same.
  std::optional<CandidateTokens> tokens = {};
};

struct CandidateScore {
  float score = 0;               ///< raw; higher is better
  std::int32_t tokens = 0;       ///< 0 where the scorer does not count them
  bool truncated = false;        ///< the end of the text was not seen
  bool query_truncated = false;  ///< the end of the query was not seen
};

/// How a call went, as far as a scorer knows.
struct ScoringStats {
  StageTimes times = {};      ///< tokenize and device; the second stage measures the rest
  std::string fallback = {};  ///< why something else than what is configured gave the scores; empty where it did not
};

/// Second-stage scorer: a query's text and its candidates' texts in, a score each out. No Lucene++ type in it, so
/// a module needs nothing but this header. Thread-safe: score() may be called from any number of threads at once.
class RELUCENT_API Scorer {
 public:
  virtual ~Scorer() = default;
  /// `scores` has one entry a candidate. Deterministic: a candidate's score depends on the query and the
  /// candidate alone. Throws Error; `deadline` when `stop` is due.
  virtual void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
                     const StopSignal& stop) const = 0;
  /// The same with an account, for scorers that can give one.
  virtual ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                                   std::span<CandidateScore> scores, const StopSignal& stop) const {
    score(query, candidates, scores, stop);
    return {};
  }
  /// Tokenizer::fingerprint() of the stored token ids that this scorer can use; 0: it reads texts.
  virtual std::uint64_t tokenizer() const { return 0; }
  /// One line for explain() and logs: what this is, on what device, with which checkpoint.
  virtual std::string describe() const = 0;
  /// What a person should know about how it came about: why there is no GPU, say. Logged once; empty: nothing.
  virtual std::string notice() const { return {}; }
};

/// Makes the scorer that [rescorer] module names: "cross-encoder", or a path to a shared object that exports
///   extern "C" const int relucent_scorer_abi;  // = kScorerAbi
///   // The caller owns what it returns; may throw Error.
///   extern "C" relucent::Scorer* relucent_make_scorer(const relucent::RescorerConfig&);
RELUCENT_API std::shared_ptr<const Scorer> make_scorer(const RescorerConfig& config);

inline constexpr int kScorerAbi = 4;

}  // namespace relucent

/// Put once, at namespace scope, into a module of your own; TYPE is constructible from const RescorerConfig&.
#define RELUCENT_SCORER_MODULE(TYPE)                                                                           \
  extern "C" RELUCENT_API const int relucent_scorer_abi = ::relucent::kScorerAbi;                              \
  extern "C" RELUCENT_API ::relucent::Scorer* relucent_make_scorer(const ::relucent::RescorerConfig& config) { \
    return new TYPE(config);                                                                                   \
  }
