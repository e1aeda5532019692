// Cross-encoders of one stack: [CLS], query and document pass through the same layers.

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {
namespace {

/// If the last block need compute only [CLS], it does so by OneToken's attention, for the candidates of all groups
/// together behind the heads. Where the first blocks see one text alone, each text passes through them by itself, the
/// query once for all candidates, and a document perhaps before any query.
class PairEncoder final : public CandidateEncoder {
 public:
  explicit PairEncoder(const EncoderSource& source)
      : CandidateEncoder(EncoderKind::pair, source), last_is_short_(core_.form().last_is_short) {
    passes_.whole_layers = core_.layers().size() - (last_is_short_ ? 1 : 0);
    passes_.shares_query = core_.form().shares_query && last_is_short_;
    const std::size_t apart = core_.form().layers_apart;
    if (!passes_.shares_query && apart <= passes_.whole_layers) passes_.apart = apart;
    if (!last_is_short_) return;
    const LayerWeights& from = source.weights.stacks.front().layers.back();
    last_ = token_.pack_heads(from.attentions.front());
    if (core_.direct_arithmetic() == core_.arithmetic()) return;
    after_last_ = core_.pack_after_heads(core_.direct_arithmetic(), from,
                                         source.description.stacks.front().layers.back().feed_forward);
  }

  void encode(std::span<const Segment> texts, std::span<float> states, Team& everybody,
              const StopSignal& stop) const override {
    if (passes_.apart == 0) Encoder::encode(texts, states, everybody, stop);
    std::vector<std::size_t> tokens;
    for (const Segment& text : texts) tokens.push_back(text.tokens());
    std::vector<float*> places;
    for (std::size_t first = 0; const std::size_t count : tokens) {
      places.push_back(states.data() + first * hidden_);
      first += count;
    }
    const Core::Order order = Core::longest_first(tokens);
    std::vector<Sequence> in_order;
    std::vector<float*> places_in_order;
    for (const std::size_t i : order.items) {
      in_order.push_back({texts[i]});
      places_in_order.push_back(places[i]);
    }
    core_.each_run(order.tokens, everybody, [&](const Schedule::Run& run, Team& team) {
      encode_apart(std::span(in_order).subspan(run.first, run.count),
                   std::span(places_in_order).subspan(run.first, run.count), team, stop);
    });
  }

  HiddenStates hidden_states(const ScoringBatch& batch, Workspace& w) const override {
    const PairBatch pair = pair_batch(core_.description(), batch);
    const std::size_t query = pair.query.tokens();
    const Sequence candidate{pair.documents.front(), pair.globals.front()};
    const Group group = core_.group_of(pair.cls, pair.query, true, {&candidate, 1});
    std::vector<std::size_t> places[kGlobal + 1];  // of the tokens of each group
    places[kCls] = {0};
    for (std::size_t i = 0; i < query; ++i) places[kQuery].push_back(1 + i);
    for (std::size_t i = 0; i < candidate.document.tokens(); ++i) {
      const bool global = std::binary_search(candidate.globals.begin(), candidate.globals.end(), i);
      places[global ? kGlobal : kDocument].push_back(1 + query + i);
    }
    HiddenStates states;
    Team alone = Team::alone(w);
    core_.embed(group, alone);
    for (std::size_t i = 0; i < core_.layers().size(); ++i) {
      core_.block(i, group, nullptr, alone);
      std::vector<std::vector<float>>& segments = states.layers.emplace_back();
      for (const std::vector<std::size_t>& of_group : places) {
        if (of_group.empty()) continue;
        std::vector<float>& values = segments.emplace_back(of_group.size() * hidden_);
        for (std::size_t token = 0; token < of_group.size(); ++token) {
          core_.copy_tokens(w.x.data(), hidden_, of_group[token], 1, values.data() + token * hidden_, 1);
        }
      }
    }
    auto& t = w.own<Kept>();
    core_.final_norm(group, alone);
    std::vector<float> pooled(hidden_);
    core_.pool(group, w.x.data(), pooled.data(), hidden_);
    core_.put_token(pooled.data(), t.token.grow(padded(hidden_) * kernels_.panel), hidden_, 0);
    std::vector<float> logits(core_.description().head.logits());
    token_.head(logits, t, w);
    states.logit = logits.front();
    return states;
  }

 private:
  struct Kept : OneToken::Tokens {
    /// One row per candidate of the call. If the last block computes only [CLS]: its input to that block and then its
    /// context there, [2 hidden]. Otherwise: the state that the head takes.
    std::vector<float> states;
    Buffer<float> rows;  // of a worker: one sequence's [hidden][tokens]
  };

  void prepare(std::size_t candidates, Workspace& call) const override {
    call.own<Kept>().states.resize(candidates * 2 * hidden_);
  }

  void keep(const Group& group, const QueryStates* shared, std::size_t first, Workspace& call,
            Team& team) const override {
    const float* const x = team.group.x.data();
    float* const states = call.own<Kept>().states.data() + first * 2 * hidden_;
    if (!last_is_short_) {
      core_.pool(group, x, states, 2 * hidden_);
      return;
    }
    const std::vector<Core::Chunk> chunks = core_.chunks_of(group, 1, team);
    team.each(chunks.size(), [&](std::size_t index, Workspace& own) {
      const std::span<const Sequence> some = chunks[index].sequences;
      const auto number = static_cast<std::size_t>(some.data() - group.sequences.data());
      attend_last(group, some, x, shared, states + number * 2 * hidden_, own);
    });
  }

  void finish(const Segment&, const QueryStates*, std::size_t first, std::span<float> logits, Workspace& call,
              Workspace& own) const override {
    auto& t = own.own<Kept>();
    const float* const states = call.own<Kept>().states.data() + first * 2 * hidden_;
    const std::size_t count = logits.size() / core_.description().head.logits();
    const std::size_t vectors = core_.whole_vectors(count),
                      size = core_.panels(vectors) * padded(hidden_) * kernels_.panel;
    float* const token = t.token.grow(size);
    for (std::size_t i = 0; i < count; ++i) core_.put_token(states + 2 * i * hidden_, token, hidden_, i);
    if (last_is_short_) {
      float* const context = t.context.grow(size);
      for (std::size_t i = 0; i < count; ++i) {
        core_.put_token(states + (2 * i + 1) * hidden_, context, hidden_, i);
      }
      const Core::AfterHeads& after = after_last_ ? *after_last_ : core_.layers().back().after;
      core_.multiply(after.attention_output, context, hidden_, vectors, Product::Output::add, token, hidden_, own);
      core_.feed_forward(after, token, vectors, {}, own);
    }
    token_.head(logits, t, own);
  }

  /// The last block's attention for the [CLS] tokens of some sequences of a group whose activation is x, to `states`.
  void attend_last(const Group& group, std::span<const Sequence> sequences, const float* x, const QueryStates* shared,
                   float* states, Workspace& own) const {
    auto& t = own.own<Kept>();
    const std::size_t count = sequences.size(), vectors = core_.whole_vectors(count);
    const std::size_t room = core_.panels(vectors) * kernels_.panel;
    // The [CLS] tokens of the sequences side by side, and their queries.
    float* cls = t.token.grow(padded(hidden_) * room);
    std::vector<float> token(hidden_);
    for (std::size_t i = 0; i < count; ++i) {
      core_.copy_tokens(x, hidden_, sequences[i].first, 1, token.data(), 1);
      core_.put_token(token.data(), cls, hidden_, i);
    }
    float* query = t.query.grow(padded(core_.width()) * room);
    core_.multiply(last_.query, cls, hidden_, vectors, Product::Output::store, query, core_.width(), own);
    std::size_t longest = 0;
    for (const Sequence& sequence : sequences) longest = std::max(longest, group.tokens_of(sequence));
    float* const rows = t.rows.grow(hidden_ * core_.whole(longest));
    float* const context = t.context.grow(padded(core_.width()) * room);
    token_.attend(
        last_, count,
        [&](std::size_t i) {
          const std::size_t tokens = group.tokens_of(sequences[i]), stride = core_.whole(tokens);
          core_.copy_tokens(x, hidden_, sequences[i].first, tokens, rows, stride);
          OneToken::Seen seen{.own = {rows, stride, hidden_, tokens},
                              .query = {},
                              .before = group.cls.tokens(),
                              .query_in_own = group.query_in_group ? group.query.tokens() : 0,
                              .sees_query = core_.form().last_sees_query,
                              .sees_document = core_.form().last_sees_document};
          if (shared != nullptr) seen.query = {shared->last.data(), shared->stride, hidden_, shared->tokens};
          return seen;
        },
        t, own);
    for (std::size_t i = 0; i < count; ++i) {
      core_.copy_tokens(cls, hidden_, i, 1, states + 2 * i * hidden_, 1);
      core_.copy_tokens(context, hidden_, i, 1, states + (2 * i + 1) * hidden_, 1);
    }
  }

  bool last_is_short_;  // the last block computes only [CLS]
  OneToken::Heads last_;
  std::optional<Core::AfterHeads> after_last_;  // unless the last layer's are used
};

}  // namespace

std::unique_ptr<const Encoder> make_pair_encoder(const EncoderSource& source) {
  return std::make_unique<PairEncoder>(source);
}

}  // namespace relucent::cpu
