// Encoders of sets: candidates that see each other through one token each.

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {
namespace {

/// All candidates of a batch pass through a layer together, in the memory of one group.
class CandidateSets final : public Encoder {
 public:
  explicit CandidateSets(const EncoderSource& source)
      : Encoder(EncoderKind::set), core_(source), token_(core_, source) {}

  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override {
    const PairBatch pairs = pair_batch(core_.description(), batch);
    if (pairs.documents.empty()) return;
    std::vector<Sequence> candidates;
    for (const Segment& document : pairs.documents) candidates.push_back({document});
    const Group group = core_.group_of(pairs.cls, pairs.query, true, candidates);
    core_.embed(group, everybody);
    for (const Core::Layer& layer : core_.layers()) {
      stop.throw_if_due("scoring the candidates");
      block(layer, group, everybody);
    }
    Workspace& w = everybody.group;
    std::vector<float> states(logits.size() * hidden_);
    core_.pool(group, w.x.data(), states.data(), hidden_);
    auto& t = w.own<Kept>();
    float* const token =
        t.token.grow(core_.panels(core_.whole_vectors(logits.size())) * padded(hidden_) * kernels_.panel);
    for (std::size_t i = 0; i < logits.size(); ++i) core_.put_token(states.data() + i * hidden_, token, hidden_, i);
    token_.head(logits, t, w);
  }

 private:
  struct Kept : OneToken::Tokens {
    // The states of the tokens that every candidate sees; their queries, keys and values, and these as rows.
    Buffer<float> states, projected, rows;
  };

  void block(const Core::Layer& layer, const Group& group, Team& team) const {
    Workspace& w = team.group;
    auto& t = w.own<Kept>();
    const std::size_t count = group.sequences.size(), vectors = core_.whole_vectors(count), stride = core_.whole(count);
    const std::size_t room = core_.panels(vectors) * kernels_.panel, features = layer.heads.features();
    float* const states = t.states.grow(padded(hidden_) * room);
    std::vector<float> state(hidden_);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = group.sequences[i].first + group.cls.tokens() - 1;
      core_.copy_tokens(w.x.data(), hidden_, place, 1, state.data(), 1);
      core_.put_token(state.data(), states, hidden_, i);
    }
    float* const projected = t.projected.grow(padded(features) * room);
    core_.multiply(layer.heads, states, hidden_, vectors, Product::Output::store, projected, features, w);
    float* const rows = t.rows.grow(features * stride);
    core_.copy_tokens(projected, features, 0, count, rows, stride);
    core_.attend(layer, group, team, [&](const Core::Chunk& chunk, const Core::HeadRows& of, Workspace& own) {
      const float* const keys = rows + (of.head * core_.head_features() + core_.head_size()) * stride;
      attend(group, chunk, of, {keys, keys + core_.head_size() * stride, stride, count}, own);
    });
    core_.after_heads(layer.after, group.vectors, team);
  }

  void attend(const Group& group, const Core::Chunk& chunk, const Core::HeadRows& of, const Keys& seen,
              Workspace& own) const {
    const std::size_t apart = group.cls.tokens() - 1;  // the place of the token that `seen` has
    for (const Sequence& sequence : chunk.sequences) {
      const std::size_t first = sequence.first - chunk.first_panel * kernels_.panel, tokens = group.tokens_of(sequence);
      const auto own_keys = [&](std::size_t token, std::size_t count) {
        return Keys{of.keys + first + token, of.values + first + token, of.stride, count};
      };
      Attention a;
      a.query = of.query + first;
      a.output = of.output + first;
      a.query_stride = a.output_stride = of.stride;
      a.tokens = tokens;
      if (apart > 0) a.segments[a.segment_count++] = own_keys(0, apart);
      a.segments[a.segment_count++] = seen;
      a.segments[a.segment_count++] = own_keys(apart + 1, tokens - apart - 1);
      a.head_size = core_.head_size();
      a.arithmetic = core_.projection_arithmetic();
      a.scale = core_.scale();
      a.scores = own.scores.grow((seen.count + tokens + 4 * kReach + 8) * kernels_.lanes);
      kernels_.attend(a);
    }
  }

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden();
  OneToken token_;
};

}  // namespace

std::unique_ptr<const Encoder> make_candidate_sets(const EncoderSource& source) {
  return std::make_unique<CandidateSets>(source);
}

}  // namespace relucent::cpu
