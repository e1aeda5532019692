// What pair encoder and decoder share: candidates are scored one by one, from one token each.
#pragma once

#include <vector>

#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {

/// The attention of one token per sequence, and the head that reads the token. The attention moves key and value
/// projections out of the sums over the tokens that it sees (q . (W_K x) = (W_K^T q) . x, sum_k p_k W_V x_k = W_V sum_k
/// p_k x_k), so it reads each token twice, and its products take only the tokens that look.
class OneToken {
 public:
  struct Heads {
    PackedLinear query;
    std::vector<PackedLinear> key;    // one per head: W_K^T, [hidden, head size]
    std::vector<PackedLinear> value;  // one per head: W_V, [head size, hidden]
  };
  /// What a token sees: of a sequence, `before` tokens of itself, then the query's unless shared, then the document's.
  struct Seen {
    TokenRows own, query;  // query: the shared one; without rows if it is not shared
    std::size_t before = 0, query_in_own = 0;
    bool sees_query = true, sees_document = true;
  };
  /// A worker's memory. Activations of the tokens: `token` is their state, or what a head that compares takes, which
  /// head() reads.
  struct Tokens : Scratch {
    Buffer<float> token, query, context, absorbed, mixed, value, vectors;
    Buffer<float> steps[2], residual;  // of the head
  };

  /// `core` must outlive it.
  OneToken(const Core& core, const EncoderSource& source);

  Heads pack_heads(const AttentionWeights& from) const;
  /// Attention of one token for each of `count` sequences, of which `seen(i)` tells what it sees: from t.query to
  /// t.context, [heads * head size].
  void attend(const Heads& heads, std::size_t count, const std::function<Seen(std::size_t)>& seen, Tokens& t,
              Workspace& own) const;
  /// Writes the logits of t.token: of each token one, or as many as the head gives.
  void head(std::span<float> logits, Tokens& t, Workspace& own) const;

 private:
  const Core& core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden(), heads_ = core_.heads(), head_size_ = core_.head_size();
  struct Step {
    HeadStep form;
    PackedLinear dense = {}, residual = {};  // without features: none
    Core::NormParameters norm = {};
    float epsilon = 0;
    std::size_t size = 0;  // of its result
  };
  std::vector<Step> steps_;
  std::vector<float> head_output_, head_bias_;  // [outputs][size of the last step], [outputs]
};

/// An encoder whose candidates pass through the first stack in groups; what remains is computed for many candidates
/// together, which reads its weights once.
class CandidateEncoder : public Encoder {
 public:
  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody, const StopSignal& stop) const final;

 protected:
  /// How candidates pass through the first stack.
  struct Passes {
    bool token_in_group = true;               // otherwise the token is separate from it
    bool shares_query = false;                // all candidates see the same states of the query
    bool only_keys = false;                   // of the query in the last whole layer
    std::size_t apart = 0;                    // leading layers through which query and document pass apart
    std::size_t whole_layers = 0;             // that compute every token
    std::size_t most_kept = std::size_t(-1);  // candidates at a time
  };

  CandidateEncoder(EncoderKind kind, const EncoderSource& source)
      : Encoder(kind), core_(source), token_(core_, source) {}

  /// Writes the states of documents behind the layers apart, through which each passes by itself, to their places:
  /// [tokens][hidden].
  void encode_apart(std::span<const Sequence> documents, std::span<float* const> places, Team& team,
                    const StopSignal& stop) const;

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden();
  OneToken token_;
  Passes passes_;

 private:
  /// All tokens' states of each sequence of a group: [tokens][hidden].
  void copy_states(const Group& group, std::span<float* const> places, Team& team) const;
  /// The states of [CLS] and the query behind the layers apart.
  std::vector<float> shared_states(const PairBatch& pairs, Team& everybody, const StopSignal& stop) const;
  /// Gives the documents that have ids their states behind the layers apart, which it returns.
  std::vector<float> add_states(std::span<Sequence> documents, Team& team, const StopSignal& stop) const;

  /// Makes room in the call's workspace for what keep() keeps of some candidates.
  virtual void prepare(std::size_t candidates, Workspace& call) const = 0;
  /// Keeps in the call's workspace what finish() needs of a group after its blocks; its first candidate is the call's
  /// `first`.
  virtual void keep(const Group& group, const QueryStates* shared, std::size_t first, Workspace& call,
                    Team& team) const = 0;
  /// Writes the logits of some candidates from `first` on, as many of each as the head gives.
  virtual void finish(const Segment& token, const QueryStates* shared, std::size_t first, std::span<float> logits,
                      Workspace& call, Workspace& own) const = 0;
};

}  // namespace relucent::cpu
