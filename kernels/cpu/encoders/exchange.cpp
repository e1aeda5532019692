// Encoders that score documents, whose passages may exchange pivots after each block.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/cpu/encoders/core.h"
#include "kernels/folded_head.h"

namespace relucent::cpu {
namespace {

/// The passages of a document are candidates in one group. Each pivot is the mean of some of their tokens' states;
/// pivots pass through a layer of their own, if there are exchanges, and the tokens take up the result. A head pools
/// the last pivots.
class Exchange final : public Encoder {
 public:
  explicit Exchange(const EncoderSource& source) : Encoder(EncoderKind::exchange), core_(source) {
    const std::vector<relucent::Exchange>& exchanges = source.description.stacks.front().exchanges;
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      const ExchangeWeights& from = source.weights.stacks.front().exchanges[i];
      PivotLayer& to = pivot_layers_.emplace_back();
      to.layer = pack_layer(from.layer, exchanges[i].layer);
      if (exchanges[i].combines) to.combine = core_.pack(core_.direct_arithmetic(), from.combine);
    }
    const FoldedHead head = fold_head(source.description, source.weights);
    bias_ = head.bias;
    for (std::size_t g = 0; g < head.groups.size(); ++g) {
      // [2 heads, hidden], transposed, or [1, hidden]
      std::vector<float> rows = head.groups[g].weighing;
      rows.insert(rows.end(), head.groups[g].values.begin(), head.groups[g].values.end());
      Pooling& to = poolings_.emplace_back();
      to.vectors = transposed(rows, hidden_);
      to.bias = head.groups[g].bias;
      const PoolingWeights& from = source.weights.head_pooling[g];
      if (pooling_ != PivotPooling::Kind::layers) continue;
      to.vector = from.vector.to_f32();
      if (source.description.head.pivots->positions > 0) to.positions = from.positions.to_f32();
      for (std::size_t i = 0; i < from.layers.size(); ++i) {
        to.layers.push_back(pack_layer(from.layers[i], source.description.head.pivots->layers[i]));
      }
    }
  }

  /// Writes a logit per document of the batch.
  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override {
    const PairBatch pairs = pair_batch(core_.description(), batch);
    std::vector<Sequence> passages;
    for (const Segment& passage : pairs.documents) passages.push_back({passage});
    std::vector<Document> documents;
    std::vector<std::size_t> sizes;
    for (std::size_t first = 0; const DocumentPassages& document : batch.documents) {
      documents.push_back({std::span<const Sequence>(passages).subspan(first, document.candidates), document.pivots});
      first += document.candidates;
      std::size_t& size = sizes.emplace_back();
      for (const Sequence& passage : documents.back().passages) {
        size += pairs.cls.tokens() + pairs.query.tokens() + passage.document.tokens();
      }
    }
    const Core::Order order = Core::longest_first(sizes);
    std::vector<Document> ordered;
    for (const std::size_t i : order.items) ordered.push_back(documents[i]);
    std::vector<float> in_order(ordered.size());
    core_.each_run(order.tokens, everybody, [&](const Schedule::Run& run, Team& team) {
      score_documents(pairs, std::span<const Document>(ordered).subspan(run.first, run.count),
                      std::span(in_order).subspan(run.first, run.count), team, stop);
    });
    for (std::size_t i = 0; i < in_order.size(); ++i) logits[order.items[i]] = in_order[i];
  }

 private:
  /// The layer of pivots that follows a block, and what their tokens take up of it.
  struct PivotLayer {
    Core::Layer layer;
    PackedLinear combine;  // of a token and its pivot; without features: the tokens stay as they are
  };
  /// What a group of pivots adds to a score; see kernels/folded_head.h.
  struct Pooling {
    /// [hidden][2 heads]: all heads' `weighing`, then all heads' `values`; without attention `values` alone.
    std::vector<float> vectors;
    double bias = 0;  // of a group that is not empty
    /// What passes through layers with the pivots: rows [hidden], the vector itself and one per position.
    std::vector<float> vector, positions;
    std::vector<Core::Layer> layers;
  };
  struct Document {
    std::span<const Sequence> passages;
    std::span<const Pivots> pivots;
  };
  /// Pivots of some documents: a sequence per document and group that has any.
  struct PivotGroup {
    Group group;
    std::vector<std::int32_t> positions;  // what the sequences' segments refer to
    /// Pivots of a sequence that see the same pivots of it.
    struct Run {
      std::vector<std::size_t> pivots;     // numbers in the sequence
      std::span<const std::int32_t> seen;  // likewise
    };
    std::vector<std::vector<Run>> runs;  // [sequences]
    std::vector<std::size_t> document;   // [sequences]: its number
    std::vector<std::size_t> pooling;    // [sequences]: number of its group in the head
    std::vector<std::size_t> first;      // [pivots + 1]: of the pivot's tokens
    std::vector<std::size_t> tokens;     // places in the group of passages
    std::vector<std::size_t> pivot_of;   // [tokens]
  };
  struct Memory : Scratch {
    Workspace pivots;        // for the group of a group's pivots; behind their block for what their tokens take up
    Workspace pooled;        // for pivots that pass through layers which pool them
    Buffer<float> gathered;  // of a worker: a run's queries, keys, values and outputs
    Buffer<float> rows;      // of a worker: a sequence of pivots, [hidden][stride]
  };

  void score_documents(const PairBatch& batch, std::span<const Document> documents, std::span<float> logits, Team& team,
                       const StopSignal& stop) const {
    std::vector<Sequence> passages;
    for (const Document& document : documents) {
      passages.insert(passages.end(), document.passages.begin(), document.passages.end());
    }
    const Group group = core_.group_of(batch.cls, batch.query, true, passages);
    PivotGroup pivots = pivots_of(group, documents);
    core_.embed(group, team);
    for (std::size_t i = 0; i < core_.layers().size(); ++i) {
      stop.throw_if_due("scoring the candidates");
      core_.attend(i, group, nullptr, team);
      const bool last = i + 1 == core_.layers().size(), exchanges = !pivot_layers_.empty(),
                 combines = exchanges && pivot_layers_[i].combine.features() > 0;
      const bool pivots_only = last && !combines;
      core_.after_heads(core_.layers()[i].after, pivots_only ? keep_pivots_tokens(pivots, team) : group.vectors, team);
      // The next exchange makes pivots again that no token takes up.
      if (pivots.group.tokens == 0 || !(last || combines)) continue;
      if (exchanges) {
        exchange(pivot_layers_[i], pivots, group, team);
      } else {
        gather_pivots(pivots, team);
      }
    }
    std::vector<double> sums(documents.size(), bias_);
    for (std::size_t i = 0; i < pivots.runs.size(); ++i) {
      if (pivots.pooling[i] == poolings_.size()) continue;  // the head does not read it
      const Pooling& pooling = poolings_[pivots.pooling[i]];
      const float* const x = team.group.own<Memory>().pivots.x.data();
      double& sum = sums[pivots.document[i]];
      switch (pooling_) {
        case PivotPooling::Kind::attention:
          sum += pool_by_attention(pooling, pivots.group.sequences[i], x, team.group);
          break;
        case PivotPooling::Kind::maximum: sum += pool_maximum(pooling, pivots.group.sequences[i], x); break;
        case PivotPooling::Kind::layers: break;
      }
    }
    for (std::size_t g = 0; pooling_ == PivotPooling::Kind::layers && g < poolings_.size(); ++g) {
      pool_by_layers(g, pivots, sums, team);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) logits[i] = static_cast<float>(sums[i]);
  }

  PivotGroup pivots_of(const Group& passages, std::span<const Document> documents) const {
    PivotGroup result;
    std::size_t most = 0;
    for (const Document& document : documents) {
      for (const Pivots& pivots : document.pivots) most = std::max(most, pivots.pivots.size());
    }
    result.positions.resize(most);
    const std::vector<std::int32_t>& heads = core_.description().head.groups;
    std::size_t first_passage = 0;
    for (std::size_t number = 0; number < documents.size(); ++number) {
      for (const Pivots& of_group : documents[number].pivots) {
        if (of_group.pivots.empty()) continue;
        const bool of_cls = *core_.description().groups[static_cast<std::size_t>(of_group.group)].pivots_of == kCls;
        const bool of_query = *core_.description().groups[static_cast<std::size_t>(of_group.group)].pivots_of == kQuery;
        Sequence& sequence = result.group.sequences.emplace_back();
        sequence.first = result.group.tokens;
        sequence.document.positions = std::span(result.positions).first(of_group.pivots.size());
        result.document.push_back(number);
        result.pooling.push_back(
            static_cast<std::size_t>(std::find(heads.begin(), heads.end(), of_group.group) - heads.begin()));
        std::vector<PivotGroup::Run>& runs = result.runs.emplace_back();
        for (std::size_t i = 0; i < of_group.pivots.size(); ++i) {
          const Pivots::Pivot& pivot = of_group.pivots[i];
          const Sequence& passage = passages.sequences[first_passage + pivot.candidate];
          const std::size_t start =
              of_cls ? passage.first
                     : (of_query ? passage.first + passages.cls.tokens() : passages.first_document(passage));
          result.first.push_back(result.tokens.size());
          for (const std::int32_t token : of_group.tokens.subspan(pivot.first_token, pivot.tokens)) {
            result.tokens.push_back(start + static_cast<std::size_t>(token));
            result.pivot_of.push_back(sequence.first + i);
          }
          const auto seen = of_group.seen.subspan(pivot.first_seen, pivot.seen);
          const auto same = std::find_if(runs.begin(), runs.end(), [&](const PivotGroup::Run& run) {
            return std::equal(run.seen.begin(), run.seen.end(), seen.begin(), seen.end());
          });
          (same == runs.end() ? runs.emplace_back(PivotGroup::Run{{}, seen}) : *same).pivots.push_back(i);
        }
        result.group.tokens += of_group.pivots.size();
      }
      first_passage += documents[number].passages.size();
    }
    result.first.push_back(result.tokens.size());
    result.group.vectors = core_.whole_vectors(result.group.tokens);
    return result;
  }

  /// Moves the heads' outputs and the inputs of the tokens that pivots are made of to the front, where `pivots` then
  /// finds them. No other token is read behind the last block. Returns the number of their vectors.
  std::size_t keep_pivots_tokens(PivotGroup& pivots, Team& team) const {
    std::vector<std::size_t> kept = pivots.tokens;
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    const std::size_t panel = kernels_.panel;
    // An operand has units of four bytes, [panels][steps][panel], as an activation has numbers.
    const auto keep = [&](float* rows, std::size_t steps, std::size_t side_by_side = 1) {
      for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i] == i) continue;
        const float* const from = rows + kept[i] / panel * steps * panel + kept[i] % panel * side_by_side;
        float* const to = rows + i / panel * steps * panel + i % panel * side_by_side;
        for (std::size_t step = 0; step < steps; step += side_by_side) {
          std::memcpy(to + step * panel, from + step * panel, side_by_side * sizeof *to);
        }
      }
    };
    keep(team.group.x.data(), padded(hidden_));
    // The heads' outputs, packed or not.
    const Arithmetic arithmetic = core_.packs_heads() ? core_.arithmetic() : Arithmetic::fp32;
    keep(team.group.context.data(), padded(core_.width()) / inputs_together(arithmetic),
         steps_side_by_side(kernels_.layout, arithmetic));
    for (std::size_t& token : pivots.tokens) {
      token = static_cast<std::size_t>(std::lower_bound(kept.begin(), kept.end(), token) - kept.begin());
    }
    return core_.whole_vectors(kept.size());
  }

  Core::Layer pack_layer(const LayerWeights& from, const relucent::Layer& form) const {
    return {core_.pack_heads(core_.projection_arithmetic(), from.attentions.front()),
            core_.pack_after_heads(core_.arithmetic(), from, form.feed_forward), Views()};
  }

  /// Makes the pivots' states, the activation of the pivots' workspace, and its operand from those of their tokens.
  void gather_pivots(const PivotGroup& pivots, Team& team) const {
    const std::size_t panel = kernels_.panel, vectors = pivots.group.vectors, all_panels = core_.panels(vectors);
    const float* const x = team.group.x.data();
    Team of_pivots{team.group.own<Memory>().pivots, team.workers, team.each};
    Workspace& w = of_pivots.group;
    float* const states = w.x.grow(all_panels * padded(hidden_) * panel);
    const OperandOut out = core_.operand(core_.projection_arithmetic(), hidden_, vectors, w.operand, w.token_scales);
    core_.share_out(of_pivots, all_panels, all_panels, [&](std::size_t first, std::size_t count, Workspace&) {
      std::vector<float> mean(hidden_);
      const std::size_t end = std::min(pivots.group.tokens, (first + count) * panel);
      for (std::size_t pivot = first * panel; pivot < end; ++pivot) {
        std::fill(mean.begin(), mean.end(), 0.0F);
        for (std::size_t i = pivots.first[pivot]; i < pivots.first[pivot + 1]; ++i) {
          const float* const from = core_.place(x, hidden_, pivots.tokens[i]);
          for (std::size_t f = 0; f < hidden_; ++f) mean[f] += from[f * panel];
        }
        const auto tokens = static_cast<float>(pivots.first[pivot + 1] - pivots.first[pivot]);
        for (float& value : mean) value /= tokens;
        core_.put_token(mean.data(), states, hidden_, pivot);
      }
      kernels_.pack(states + first * padded(hidden_) * panel, hidden_, core_.vectors_of(first, count, vectors),
                    core_.from_panel(out, hidden_, first));
    });
  }

  /// Lets the pivots pass through a layer, and their tokens take up the result.
  void exchange(const PivotLayer& layer, const PivotGroup& pivots, const Group& group, Team& team) const {
    gather_pivots(pivots, team);
    Team of_pivots{team.group.own<Memory>().pivots, team.workers, team.each};
    run_layer(layer.layer, pivots, of_pivots);
    if (layer.combine.features() > 0) combine(layer.combine, pivots, group, team);
  }

  void attend_pivots(const PivotGroup& pivots, const Core::Chunk& chunk, const float* rows, float* output,
                     std::size_t stride, Workspace& own) const {
    const std::size_t before = chunk.first_panel * kernels_.panel;
    for (const Sequence& sequence : chunk.sequences) {
      const std::size_t first = sequence.first - before;
      const auto number = static_cast<std::size_t>(&sequence - pivots.group.sequences.data());
      for (const PivotGroup::Run& run : pivots.runs[number]) {
        // Queries, keys, values and outputs side by side.
        const std::size_t count = run.pivots.size(), keys = run.seen.size();
        const std::size_t query_stride = core_.whole(count), key_stride = core_.whole(keys);
        float* const query = own.own<Memory>().gathered.grow(2 * head_size_ * (query_stride + key_stride));
        float* const result = query + head_size_ * query_stride;
        float* const key = result + head_size_ * query_stride;
        float* const value = key + head_size_ * key_stride;
        for (std::size_t d = 0; d < head_size_; ++d) {
          const float* const from = rows + d * stride + first;
          for (std::size_t i = 0; i < count; ++i) query[d * query_stride + i] = from[run.pivots[i]];
          for (std::size_t k = 0; k < keys; ++k) {
            const auto seen = static_cast<std::size_t>(run.seen[k]);
            key[d * key_stride + k] = from[head_size_ * stride + seen];
            value[d * key_stride + k] = from[2 * head_size_ * stride + seen];
          }
        }
        Attention a;
        a.query = query;
        a.output = result;
        a.query_stride = a.output_stride = query_stride;
        a.tokens = count;
        a.segments[0] = {key, value, key_stride, keys};
        a.segment_count = 1;
        a.head_size = head_size_;
        a.scale = core_.scale();
        a.scores = own.scores.grow((keys + 4 * kReach + 8) * kernels_.lanes);
        (count == 1 ? kernels_.attend_one : kernels_.attend)(a);
        for (std::size_t d = 0; d < head_size_; ++d) {
          for (std::size_t i = 0; i < count; ++i) {
            output[d * stride + first + run.pivots[i]] = result[d * query_stride + i];
          }
        }
      }
    }
  }

  void combine(const PackedLinear& linear, const PivotGroup& pivots, const Group& group, Team& team) const {
    const std::size_t panel = kernels_.panel, vectors = core_.whole_vectors(pivots.tokens.size()),
                      all_panels = core_.panels(vectors);
    Workspace& w = team.group.own<Memory>().pivots;
    float* const x = team.group.x.data();
    const float* const states = w.x.data();
    float* const both = w.wide.grow(all_panels * padded(2 * hidden_) * panel);
    float* const combined = w.gate.grow(all_panels * padded(hidden_) * panel);
    core_.share_out(team, all_panels, kernels_.panels_together,
                    [&](std::size_t first, std::size_t count, Workspace& own) {
                      const std::size_t end = std::min(pivots.tokens.size(), (first + count) * panel);
                      std::vector<float> values(2 * hidden_);
                      for (std::size_t i = first * panel; i < end; ++i) {
                        core_.copy_tokens(x, hidden_, pivots.tokens[i], 1, values.data(), 1);
                        core_.copy_tokens(states, hidden_, pivots.pivot_of[i], 1, values.data() + hidden_, 1);
                        core_.put_token(values.data(), both, 2 * hidden_, i);
                      }
                      core_.multiply(linear, both + first * padded(2 * hidden_) * panel, 2 * hidden_,
                                     core_.vectors_of(first, count, vectors), Product::Output::store,
                                     combined + first * padded(hidden_) * panel, hidden_, own);
                      for (std::size_t i = first * panel; i < end; ++i) {
                        core_.copy_tokens(combined, hidden_, i, 1, values.data(), 1);
                        core_.put_token(values.data(), x, hidden_, pivots.tokens[i]);
                      }
                    });
    const OperandOut next{core_.projection_arithmetic(), team.group.operand.data(), team.group.token_scales.data()};
    core_.share_out(team, core_.panels(group.vectors), core_.panels(group.vectors),
                    [&](std::size_t first, std::size_t count, Workspace&) {
                      kernels_.pack(x + first * padded(hidden_) * panel, hidden_,
                                    core_.vectors_of(first, count, group.vectors),
                                    core_.from_panel(next, hidden_, first));
                    });
  }

  /// Lets a layer of pivots work on the activation of the team's group, whose operand is packed.
  void run_layer(const Core::Layer& layer, const PivotGroup& pivots, Team& team) const {
    core_.attend(layer, pivots.group, team, [&](const Core::Chunk& chunk, const Core::HeadRows& of, Workspace& own) {
      attend_pivots(pivots, chunk, of.query, of.output, of.stride, own);
    });
    core_.after_heads(layer.after, pivots.group.vectors, team);
  }

  /// What a sequence of pivots adds to its document's score.
  double pool_by_attention(const Pooling& pooling, const Sequence& pivots, const float* x, Workspace& own) const {
    const std::size_t count = pivots.document.tokens(), stride = core_.whole(count);
    const auto heads = static_cast<std::size_t>(core_.description().head.pivots->heads);
    float* const rows = own.own<Memory>().rows.grow(hidden_ * stride);
    core_.copy_tokens(x, hidden_, pivots.first, count, rows, stride);
    float* const products = own.scores.grow(2 * heads * stride);
    kernels_.token_products({rows, stride, hidden_, count}, pooling.vectors.data(), 2 * heads, 2 * heads, products,
                            stride);
    double sum = pooling.bias;
    for (std::size_t head = 0; head < heads; ++head) {
      float* const shares = products + head * stride;
      const float* const values = products + (heads + head) * stride;
      kernels_.softmax(shares, count);
      for (std::size_t n = 0; n < count; ++n) sum += static_cast<double>(shares[n]) * values[n];
    }
    return sum;
  }

  double pool_maximum(const Pooling& pooling, const Sequence& pivots, const float* x) const {
    double sum = pooling.bias;
    for (std::size_t f = 0; f < hidden_; ++f) {
      float highest = core_.place(x, hidden_, pivots.first)[f * kernels_.panel];
      for (std::size_t n = 1; n < pivots.document.tokens(); ++n) {
        highest = std::max(highest, core_.place(x, hidden_, pivots.first + n)[f * kernels_.panel]);
      }
      sum += static_cast<double>(highest) * pooling.vectors[f];
    }
    return sum;
  }

  /// The same of all sequences of group `number` of the head, added to the `sums` of their documents.
  void pool_by_layers(std::size_t number, const PivotGroup& pivots, std::span<double> sums, Team& team) const {
    const Pooling& pooling = poolings_[number];
    Team of_pooled{team.group.own<Memory>().pooled, team.workers, team.each};
    Workspace& w = of_pooled.group;
    // The same sequences with a vector in front, in which all see all.
    PivotGroup joined;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < pivots.runs.size(); ++i) {
      if (pivots.pooling[i] == number) longest = std::max(longest, 1 + pivots.group.sequences[i].document.tokens());
    }
    joined.positions.resize(longest);
    std::iota(joined.positions.begin(), joined.positions.end(), 0);
    const std::span<const std::int32_t> positions(joined.positions);
    std::vector<std::size_t> from;  // [sequences]: its first pivot
    for (std::size_t i = 0; i < pivots.runs.size(); ++i) {
      if (pivots.pooling[i] != number) continue;
      const Sequence& sequence = pivots.group.sequences[i];
      const std::size_t tokens = 1 + sequence.document.tokens();
      Sequence& to = joined.group.sequences.emplace_back();
      to.first = joined.group.tokens;
      to.document.positions = positions.first(tokens);
      std::vector<std::size_t> all(tokens);
      std::iota(all.begin(), all.end(), std::size_t{0});
      joined.runs.push_back({{std::move(all), positions.first(tokens)}});
      joined.document.push_back(pivots.document[i]);
      from.push_back(sequence.first);
      joined.group.tokens += tokens;
    }
    if (joined.runs.empty()) return;
    const std::size_t vectors = joined.group.vectors = core_.whole_vectors(joined.group.tokens);
    const std::size_t all_panels = core_.panels(vectors);
    float* const x = w.x.grow(all_panels * padded(hidden_) * kernels_.panel);
    const float* const states = team.group.own<Memory>().pivots.x.data();
    std::vector<float> values(hidden_);
    for (std::size_t i = 0; i < joined.runs.size(); ++i) {
      const Sequence& sequence = joined.group.sequences[i];
      for (std::size_t n = 0; n < sequence.document.tokens(); ++n) {
        if (n == 0) {
          values = pooling.vector;
        } else {
          core_.copy_tokens(states, hidden_, from[i] + n - 1, 1, values.data(), 1);
        }
        const std::size_t row = n * hidden_;
        for (std::size_t f = 0; !pooling.positions.empty() && f < hidden_; ++f) values[f] += pooling.positions[row + f];
        core_.put_token(values.data(), x, hidden_, sequence.first + n);
      }
    }
    const OperandOut out = core_.operand(core_.projection_arithmetic(), hidden_, vectors, w.operand, w.token_scales);
    core_.share_out(of_pooled, all_panels, all_panels, [&](std::size_t first, std::size_t count, Workspace&) {
      kernels_.pack(x + first * padded(hidden_) * kernels_.panel, hidden_, core_.vectors_of(first, count, vectors),
                    core_.from_panel(out, hidden_, first));
    });
    for (const Core::Layer& layer : pooling.layers) run_layer(layer, joined, of_pooled);
    for (std::size_t i = 0; i < joined.runs.size(); ++i) {
      const float* const first = core_.place(w.x.data(), hidden_, joined.group.sequences[i].first);
      double sum = pooling.bias;
      for (std::size_t f = 0; f < hidden_; ++f)
        sum += static_cast<double>(first[f * kernels_.panel]) * pooling.vectors[f];
      sums[joined.document[i]] += sum;
    }
  }

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden(), head_size_ = core_.head_size();
  const PivotPooling::Kind pooling_ = core_.description().head.pivots->kind;
  std::vector<PivotLayer> pivot_layers_;  // one per block, or none
  std::vector<Pooling> poolings_;         // [groups of the head]
  double bias_ = 0;                       // of every document's score
};

}  // namespace

std::unique_ptr<const Encoder> make_exchange(const EncoderSource& source) { return std::make_unique<Exchange>(source); }

}  // namespace relucent::cpu
