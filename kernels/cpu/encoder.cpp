#include "kernels/cpu/encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu/schedule.h"
#include "kernels/relative_buckets.h"
#include "relucent/error.h"

namespace relucent::cpu {
Team Team::alone(Workspace& workspace) {
  return {workspace, 1, [&workspace](std::size_t count, const Work& work) {
            for (std::size_t i = 0; i < count; ++i) work(i, workspace);
          }};
}

std::size_t Encoder::panels(std::size_t vectors) const {
  const std::size_t wide = kernels_.panel / kernels_.lanes;
  return (vectors + wide - 1) / wide;
}

const float* Encoder::place(const float* activation, std::size_t features, std::size_t token) const {
  return activation + token / kernels_.panel * padded(features) * kernels_.panel + token % kernels_.panel;
}

OperandOut Encoder::operand(Arithmetic arithmetic, std::size_t features, std::size_t vectors, Buffer<float>& units,
                            Buffer<float>& token_scales) const {
  const std::size_t tokens = panels(vectors) * kernels_.panel;
  return {arithmetic, units.grow(padded(features) / inputs_together(arithmetic) * tokens), token_scales.grow(tokens)};
}

Encoder::Group Encoder::layout(const Segment& cls, const Segment& query, std::span<const Candidate> candidates,
                               bool query_in_group) const {
  Group group;
  group.cls = has_decoder() ? 0 : 1;
  group.query = query.tokens();
  group.query_in_group = query_in_group;
  group.cls_position = cls.positions.front();
  group.query_position = query.positions.front();
  for (const Candidate& candidate : candidates) {
    group.tokens += group.tokens_of(group.sequences.emplace_back(Sequence{candidate, group.tokens}));
  }
  group.vectors = whole_vectors(group.tokens);
  return group;
}

void Encoder::put_token(const float* values, float* activation, std::size_t features, std::size_t token) const {
  float* to = activation + (place(activation, features, token) - activation);
  for (std::size_t f = 0; f < features; ++f) to[f * kernels_.panel] = values[f];
}

std::vector<Encoder::Chunk> Encoder::chunks_of(const Group& group, std::size_t tasks_each, const Team& team) const {
  const std::span<const Sequence> all(group.sequences);
  const std::size_t parts = parts_for(tasks_each, team.workers, all.size());
  std::vector<Chunk> chunks;
  for (std::size_t first = 0, part = 1; part <= parts; ++part) {
    std::size_t end = part == parts ? all.size() : first;
    while (end < all.size() && all[end].first * parts < part * group.tokens) ++end;
    if (end == first) continue;
    Chunk chunk{.sequences = all.subspan(first, end - first), .first_token = all[first].first};
    const std::size_t end_token = end < all.size() ? all[end].first : group.tokens;
    chunk.tokens = end_token - chunk.first_token;
    chunk.first_panel = chunk.first_token / kernels_.panel;
    chunk.panels = (end_token + kernels_.panel - 1) / kernels_.panel - chunk.first_panel;
    chunks.push_back(chunk);
    first = end;
  }
  return chunks;
}

template <typename Work>
void Encoder::share_out(Team& team, std::size_t count, std::size_t most, const Work& work) {
  const std::size_t size = task_size(count, team.workers, most);
  team.each((count + size - 1) / size, [&](std::size_t index, Workspace& own) {
    const std::size_t first = index * size;
    work(first, std::min(size, count - first), own);
  });
}

EmbeddingRows Encoder::embedding(const Segment& segment, std::size_t i) const {
  const auto row = [&](const std::vector<float>& table, std::int32_t index) {
    return table.data() + (table.size() > embedding_ ? static_cast<std::size_t>(index) * embedding_ : 0);
  };
  return {row(word_, segment.ids[i]), row(position_, segment.positions[i]), row(token_type_, segment.type)};
}

void Encoder::embed(std::span<const EmbeddingRows> tokens, Team& team) const {
  Workspace& w = team.group;
  const std::size_t vectors = whole_vectors(tokens.size()), lanes = kernels_.lanes, panel = kernels_.panel;
  float* x = w.x.grow(panels(vectors) * padded(hidden_) * panel);
  const OperandOut out = operand(projection_arithmetic_, hidden_, vectors, w.operand, w.token_scales);
  const bool projects = embedding_projection_.features() > 0;
  share_out(team, panels(vectors), panels(vectors), [&](std::size_t first, std::size_t count, Workspace& own) {
    const std::size_t some = vectors_of(first, count, vectors);
    const std::size_t end = std::min(tokens.size(), (first + count) * panel);
    float* const to = x + first * padded(hidden_) * panel;
    float* const rows = projects ? own.wide.grow(count * padded(embedding_) * panel) : to;
    for (std::size_t token = first * panel; token < end; token += lanes) {
      const float* at = place(rows, embedding_, token - first * panel);
      kernels_.embed(tokens.data() + token, std::min(lanes, end - token), embedding_, rows + (at - rows));
    }
    Norm norm = norm_of(embedding_norm_, rows, some);
    norm.features = embedding_;
    const OperandOut packed_x = from_panel(out, hidden_, first);
    const bool normed = !embedding_norm_.gamma.empty(), normed_again = !first_norm_.gamma.empty();
    if (!projects) {
      if (normed) kernels_.norm(norm, normed_again ? OperandOut{} : packed_x);
      if (!normed || normed_again) norm_between(first_norm_, to, some, packed_x, own);
      return;
    }
    const OperandOut packed =
        operand(embedding_projection_.arithmetic(), embedding_, some, own.part_operand, own.part_scales);
    if (normed) {
      kernels_.norm(norm, packed);
    } else {
      kernels_.pack(rows, embedding_, some, packed);
    }
    multiply(embedding_projection_, packed, some, Product::Output::store, to, hidden_);
    norm_between(first_norm_, to, some, packed_x, own);
  });
}

void Encoder::embed(const Segment& cls, const Segment& query, const Group& group, Team& team) const {
  std::vector<EmbeddingRows> tokens;
  tokens.reserve(group.tokens);
  const auto add = [&](const Segment& segment) {
    for (std::size_t i = 0; i < segment.tokens(); ++i) tokens.push_back(embedding(segment, i));
  };
  for (const Sequence& sequence : group.sequences) {
    if (group.cls > 0) add(cls);
    if (group.query_in_group) add(query);
    add(sequence.document());
  }
  embed(tokens, team);
}

void Encoder::prepare_positions(std::size_t count, Workspace& w) const {
  if ((thetas_.empty() && relative_biases_.empty()) || count <= w.positions) return;
  w.positions = std::max<std::size_t>(512, std::bit_ceil(count));
  w.turns.clear();
  for (const double theta : thetas_) {
    for (double (*function)(double) :
         {static_cast<double (*)(double)>(std::cos), static_cast<double (*)(double)>(std::sin)}) {
      for (std::size_t position = 0; position < w.positions; ++position) {
        for (std::size_t d = 0; d < head_size_ / 2; ++d) {
          const double turn = std::pow(theta, -2.0 * static_cast<double>(d) / static_cast<double>(head_size_));
          w.turns.push_back(static_cast<float>(function(static_cast<double>(position) * turn)));
        }
      }
    }
  }
  w.biases.clear();
  const auto reach = static_cast<std::int32_t>(w.positions + kReach);
  for (const std::vector<float>& table : relative_biases_) {
    for (std::size_t head = 0; head < heads_; ++head) {
      for (std::int32_t distance = -reach; distance < reach; ++distance) {
        w.biases.push_back(table[bucket_of(-distance, relative_) * heads_ + head]);
      }
    }
  }
}

std::size_t Encoder::positions_of(const Group& group) {
  std::int32_t highest = 0;
  for (const Sequence& sequence : group.sequences) highest = std::max(highest, sequence.document().positions.back());
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(
             {highest, group.cls_position, group.query_position + static_cast<std::ptrdiff_t>(group.query)})) +
         1;
}

const float* Encoder::biases_of(const Layer& layer, std::size_t head, const Workspace& group) const {
  if (!layer.biases) return nullptr;
  const std::size_t reach = group.positions + kReach;
  return group.biases.data() + (*layer.biases * heads_ + head) * 2 * reach + reach;
}

void Encoder::fill_rotations(const Segment& cls, const Segment& query, const Group& group, Workspace& w) const {
  if (thetas_.empty()) return;
  const std::size_t half = head_size_ / 2, slots = panels(group.vectors) * kernels_.panel;
  std::vector<std::size_t> positions(slots);
  const auto put = [&](std::size_t first, const Segment& segment) {
    std::copy(segment.positions.begin(), segment.positions.end(),
              positions.begin() + static_cast<std::ptrdiff_t>(first));
  };
  for (const Sequence& sequence : group.sequences) {
    if (group.cls > 0) put(sequence.first, cls);
    if (group.query_in_group) put(sequence.first + group.cls, query);
    put(group.first_document(sequence), sequence.document());
  }
  float* to = w.rotations.grow(thetas_.size() * 2 * half * slots);
  for (std::size_t table = 0; table < 2 * thetas_.size(); ++table) {
    const float* from = w.turns.data() + table * w.positions * half;
    for (std::size_t d = 0; d < half; ++d) {
      for (std::size_t slot = 0; slot < slots; ++slot) *to++ = from[positions[slot] * half + d];
    }
  }
}

OperandOut Encoder::from_panel(const OperandOut& out, std::size_t features, std::size_t panel) const {
  if (out.units == nullptr) return out;
  const std::size_t steps = padded(features) / inputs_together(out.arithmetic);
  return {out.arithmetic, static_cast<float*>(out.units) + panel * steps * kernels_.panel,
          out.token_scales + panel * kernels_.panel};
}

std::size_t Encoder::vectors_of(std::size_t first_panel, std::size_t count, std::size_t vectors) const {
  const std::size_t wide = kernels_.panel / kernels_.lanes;
  return std::min(vectors - first_panel * wide, count * wide);
}

Norm Encoder::norm_of(const NormParameters& parameters, float* x, std::size_t vectors) const {
  return {.x = x,
          .gamma = parameters.gamma.data(),
          .beta = parameters.beta.data(),
          .epsilon = description_.norm_epsilon,
          .features = hidden_,
          .vectors = vectors,
          .bias = parameters.bias.empty() ? nullptr : parameters.bias.data(),
          .rms = description_.norm_kind == NormKind::rms};
}

void Encoder::norm_between(const NormParameters& parameters, float* x, std::size_t vectors, const OperandOut& out,
                           Workspace& own) const {
  if (parameters.gamma.empty()) {
    if (out.units != nullptr) kernels_.pack(x, hidden_, vectors, out);
    return;
  }
  Norm norm = norm_of(parameters, x, vectors);
  if (norms_before_) norm.to = own.normed.grow(panels(vectors) * padded(hidden_) * kernels_.panel);
  kernels_.norm(norm, out);
}

template <typename Attend>
void Encoder::block(const Layer& layer, const Group& group, Team& team, const Attend& attend) const {
  const std::size_t panel = kernels_.panel, rows = padded(width_);
  Workspace& of_group = team.group;
  float* context = of_group.context.grow(panels(group.vectors) * rows * panel);
  const OperandOut input{projection_arithmetic_, of_group.operand.data(), of_group.token_scales.data()};
  const std::vector<Chunk> chunks = chunks_of(group, heads_, team);
  team.each(chunks.size() * heads_, [&](std::size_t index, Workspace& own) {
    const Chunk& chunk = chunks[index / heads_];
    const std::size_t head = index % heads_;
    // The band reads up to kReach tokens before the first and after the last.
    const std::size_t stride = kReach + chunk.panels * panel + kReach;
    float* values = own.head.grow(head_features_ * stride) + kReach;
    float* output = own.head_output.grow(head_size_ * stride) + kReach;
    const OperandOut of_chunk = from_panel(input, hidden_, chunk.first_panel);
    Product product = layer.heads.product(head * head_features_, head_features_);
    product.operand = of_chunk.units;
    product.token_scales = of_chunk.token_scales;
    product.vectors = vectors_of(chunk.first_panel, chunk.panels, group.vectors);
    product.out = values;
    product.panel_stride = panel;
    product.feature_stride = stride;
    kernels_.product(product);
    if (layer.rotation) {
      const std::size_t slots = panels(group.vectors) * panel, half = head_size_ / 2;
      const float* cosines = of_group.rotations.data() + *layer.rotation * 2 * half * slots + chunk.first_panel * panel;
      for (const std::size_t row : {std::size_t{0}, head_size_}) {  // query, key
        kernels_.rotate({.rows = values + row * stride,
                         .stride = stride,
                         .size = head_size_,
                         .cosines = cosines,
                         .sines = cosines + half * slots,
                         .table_stride = slots,
                         .tokens = chunk.panels * panel});
      }
    }
    attend(chunk, head, values, output, stride, own);
    const std::size_t end_token = chunk.first_token + chunk.tokens, before = chunk.first_panel * panel;
    if (packs_heads()) {
      kernels_.pack_rows({.rows = output + chunk.first_token - before,
                          .stride = stride,
                          .first_feature = head * head_size_,
                          .count = head_size_,
                          .first_token = chunk.first_token,
                          .tokens = chunk.tokens,
                          .features = width_},
                         {arithmetic_, context, nullptr});
      return;
    }
    for (std::size_t d = 0; d < head_size_; ++d) {
      for (std::size_t p = chunk.first_panel; p < chunk.first_panel + chunk.panels; ++p) {
        const std::size_t first = std::max(chunk.first_token, p * panel), end = std::min(end_token, (p + 1) * panel);
        std::copy_n(output + d * stride + first - before, end - first,
                    context + (p * rows + head * head_size_ + d) * panel + first % panel);
      }
    }
  });
  after_heads(layer.after, group.vectors, team);
}

void Encoder::after_heads(const AfterHeads& layer, std::size_t vectors, Team& team) const {
  const std::size_t all_panels = panels(vectors), rows = padded(hidden_);
  // Steps by features need more waiting for each other, which few workers do not make up for.
  if (team.workers >= 4 && all_panels < 2 * team.workers) {
    after_heads_by_features(layer, vectors, team);
    return;
  }
  Workspace& group = team.group;
  const OperandOut next{projection_arithmetic_, group.operand.data(), group.token_scales.data()};
  const OperandOut context{arithmetic_, group.context.data(), group.token_scales.data()};
  share_out(team, all_panels, kernels_.panels_together, [&](std::size_t first, std::size_t count, Workspace& own) {
    const std::size_t some = vectors_of(first, count, vectors);
    float* x = group.x.data() + first * rows * kernels_.panel;
    if (packs_heads()) {
      multiply(layer.attention_output, from_panel(context, width_, first), some, Product::Output::add, x, hidden_);
    } else {
      multiply(layer.attention_output, group.context.data() + first * padded(width_) * kernels_.panel, width_, some,
               Product::Output::add, x, hidden_, own);
    }
    feed_forward(layer, x, some, from_panel(next, hidden_, first), own);
  });
}

// The same step by step, for few tokens and many workers.
void Encoder::after_heads_by_features(const AfterHeads& layer, std::size_t vectors, Team& team) const {
  const std::size_t panel = kernels_.panel, all_panels = panels(vectors), rows = padded(hidden_);
  const std::size_t wide_features = layer.intermediate.features(), together = inputs_together(arithmetic_);
  Workspace& group = team.group;
  float* x = group.x.data();
  const auto each_panel = [&](const auto& work) {
    team.each(all_panels, [&](std::size_t p, Workspace& own) { work(p, vectors_of(p, 1, vectors), own); });
  };
  // Calls work(item, panel, first, end, own) for runs [first, end) of each item's features; no item has more than
  // `most`.
  const auto each_run = [&](std::size_t items, std::size_t most, const auto& features_of, const auto& work) {
    // Tile kernels take two blocks of features at a time.
    constexpr std::size_t pair = 2 * kFeatureBlock;
    const std::size_t tasks = items * all_panels, runs = parts_for(tasks, team.workers, (most + pair - 1) / pair);
    team.each(tasks * runs, [&](std::size_t index, Workspace& own) {
      const std::size_t item = index % items, p = index / items % all_panels, run = index / tasks;
      const std::size_t features = features_of(item), pairs = (features + pair - 1) / pair;
      const std::size_t first = run * pairs / runs * pair, end = std::min(features, (run + 1) * pairs / runs * pair);
      if (first < end) work(item, p, first, end, own);
    });
  };
  // Features [first, end) of one panel; the output starts at feature `first`, too.
  const auto multiply_run = [&](const PackedLinear& linear, std::size_t first, std::size_t end, const OperandOut& in,
                                std::size_t p, Product::Output output, float* out) {
    Product product = linear.product(first, end - first);
    product.operand = in.units;
    product.token_scales = in.token_scales;
    product.vectors = vectors_of(p, 1, vectors);
    product.output = output;
    product.feature_stride = panel;
    product.out = out;
    kernels_.product(product);
  };
  OperandOut gathered{arithmetic_, group.context.data(), group.token_scales.data()};
  if (!packs_heads()) {
    gathered = operand(arithmetic_, width_, vectors, group.part_operand, group.part_scales);
    each_panel([&](std::size_t p, std::size_t some, Workspace&) {
      kernels_.pack(group.context.data() + p * padded(width_) * panel, width_, some, from_panel(gathered, width_, p));
    });
  }
  const auto only = [](std::size_t features) { return [features](std::size_t) { return features; }; };
  const std::size_t outputs = layer.attention_output.features();
  each_run(1, outputs, only(outputs), [&](std::size_t, std::size_t p, std::size_t first, std::size_t end, Workspace&) {
    multiply_run(layer.attention_output, first, end, from_panel(gathered, width_, p), p, Product::Output::add,
                 x + (p * rows + first) * panel);
  });

  const OperandOut packed = operand(arithmetic_, hidden_, vectors, group.part_operand, group.part_scales);
  const auto norm_each = [&](const NormParameters& norm, const OperandOut& out) {
    each_panel([&](std::size_t p, std::size_t some, Workspace& own) {
      norm_between(norm, x + p * rows * panel, some, from_panel(out, hidden_, p), own);
    });
  };
  norm_each(layer.attention_norm, packed);

  // The intermediate features in parts, as feed_forward() takes them: [parts][panels][steps of the part][panel].
  const std::vector<PackedLinear>& down = layer.output;
  const std::size_t most = down.front().steps() * together, tokens = all_panels * panel;
  const auto features_of = [&](std::size_t part) {
    return std::min(down[part].steps() * together, wide_features - part * most);
  };
  float* const units = group.wide_operand.grow(down.size() * most / together * tokens);
  float* const scales = group.wide_scales.grow(down.size() * tokens);
  const auto activated = [&](std::size_t part, std::size_t p) {
    return OperandOut{arithmetic_, units + (part * tokens * most + p * panel * features_of(part)) / together,
                      scales + part * tokens + p * panel};
  };
  // In int8, a token's scale is known when all of the part's features are.
  const bool later = arithmetic_ == Arithmetic::int8 || !layer.fused();
  float* const wide = later ? group.wide.grow(wide_features * tokens) : nullptr;
  each_run(down.size(), most, features_of,
           [&](std::size_t part, std::size_t p, std::size_t first, std::size_t end, Workspace& own) {
             const std::size_t feature = part * most + first;
             const OperandOut in = from_panel(packed, hidden_, p);
             if (later) {
               float* const to = wide + (p * wide_features + feature) * panel;
               intermediate(layer, feature, end - first, in, vectors_of(p, 1, vectors), to, own);
               return;
             }
             float* const to = static_cast<float*>(activated(part, p).units) + first / together * panel;
             multiply_run(layer.intermediate, feature, feature + end - first, in, p, Product::Output::gelu_operand, to);
           });
  if (later) {
    each_panel([&](std::size_t p, std::size_t some, Workspace&) {
      for (std::size_t part = 0; part < down.size(); ++part) {
        kernels_.pack(wide + (p * wide_features + part * most) * panel, features_of(part), some, activated(part, p));
      }
    });
  }
  each_run(1, outputs, only(outputs), [&](std::size_t, std::size_t p, std::size_t first, std::size_t end, Workspace&) {
    for (std::size_t part = 0; part < down.size(); ++part) {
      multiply_run(down[part], first, end, activated(part, p), p, Product::Output::add, x + (p * rows + first) * panel);
    }
  });
  const OperandOut next{projection_arithmetic_, group.operand.data(), group.token_scales.data()};
  norm_each(layer.output_norm, next);
}

void Encoder::intermediate(const AfterHeads& layer, std::size_t first, std::size_t features, const OperandOut& in,
                           std::size_t vectors, float* out, Workspace& own) const {
  const std::size_t panel = kernels_.panel, count = panels(vectors) * features * panel;
  const auto multiply_to = [&](const PackedLinear& linear, Product::Output output, float* to) {
    Product product = linear.product(first, features);
    product.operand = in.units;
    product.token_scales = in.token_scales;
    product.vectors = vectors;
    product.output = output;
    product.out = to;
    product.panel_stride = features * panel;
    product.feature_stride = panel;
    kernels_.product(product);
  };
  multiply_to(layer.intermediate, layer.fused() ? Product::Output::gelu : Product::Output::store, out);
  if (layer.fused()) return;
  float* const gate = layer.gated() ? own.gate.grow(count) : nullptr;
  if (layer.gated()) multiply_to(layer.gate, Product::Output::store, gate);
  kernels_.activate(layer.activation, layer.intermediate.arithmetic() != Arithmetic::fp32, out, gate, count);
}

// x <- LN(x), x <- LN(x + W_2 f(W_1 x + b_1) + b_2); packs the result into `next`. The second product takes its
// inputs in parts, so that what lies between the products stays small.
void Encoder::feed_forward(const AfterHeads& layer, float* x, std::size_t vectors, const OperandOut& next,
                           Workspace& own) const {
  const std::size_t panel = kernels_.panel, wide = panel / kernels_.lanes;
  const PackedLinear& up = layer.intermediate;
  const Arithmetic arithmetic = up.arithmetic();
  const OperandOut packed = operand(arithmetic, hidden_, vectors, own.part_operand, own.part_scales);
  norm_between(layer.attention_norm, x, vectors, packed, own);

  std::size_t first = 0;
  for (const PackedLinear& part : layer.output) {
    const std::size_t features = std::min(part.steps() * inputs_together(arithmetic), up.features() - first);
    const OperandOut activated = operand(arithmetic, features, vectors, own.wide_operand, own.wide_scales);
    if (arithmetic == Arithmetic::int8 || !layer.fused()) {
      // A token's int8 scale depends on all of its features, so they wait for it: those of a few panels, in a near
      // cache.
      const std::size_t together = std::min<std::size_t>(kernels_.panels_together, 4);
      float* activation = own.wide.grow(features * together * panel);
      for (std::size_t p = 0; p < panels(vectors); p += together) {
        const std::size_t some = std::min(vectors - p * wide, together * wide);
        intermediate(layer, first, features, from_panel(packed, hidden_, p), some, activation, own);
        kernels_.pack(activation, features, some, from_panel(activated, features, p));
      }
    } else {
      Product product = up.product(first, features);
      product.operand = packed.units;
      product.vectors = vectors;
      product.output = Product::Output::gelu_operand;
      product.out = activated.units;
      product.panel_stride = part.steps() * panel;
      kernels_.product(product);
    }
    multiply(part, activated, vectors, Product::Output::add, x, hidden_);
    first += features;
  }
  norm_between(layer.output_norm, x, vectors, next, own);
}

void Encoder::attend_chunk(const Views& views, const Group& group, const Chunk& chunk, const Keys& shared_query,
                           const float* biases, std::size_t stride, Workspace& w) const {
  const std::size_t before = chunk.first_panel * kernels_.panel;
  const float* rows = w.head.data() + kReach;
  float* output = w.head_output.data() + kReach;
  const float* keys = rows + head_size_ * stride;
  const float* values = keys + head_size_ * stride;
  struct Run {
    const float* query;
    float* output;
    Keys keys;
    std::ptrdiff_t position;  // of the first token
  };
  for (const Sequence& sequence : chunk.sequences) {
    const std::size_t start = sequence.first - before;
    const std::size_t first = group.first_document(sequence) - before, document = sequence.document().tokens();
    const auto run = [&](std::size_t token, std::size_t count, std::ptrdiff_t position) {
      return Run{rows + token, output + token, {keys + token, values + token, stride, count}, position};
    };
    Run runs[kGlobal + 1] = {run(start, group.cls, group.cls_position),
                             run(start + group.cls, group.query, group.query_position),
                             run(first, document, sequence.document().positions.front())};
    if (!group.query_in_group) runs[kQuery].keys = shared_query;
    const std::span<const std::size_t> globals = sequence.candidate.globals;
    const std::size_t global_stride = whole_vectors(globals.size()) * kernels_.lanes;
    float* const of_globals = globals.empty() ? nullptr : w.globals.grow(4 * head_size_ * global_stride);
    if (!globals.empty()) {
      for (std::size_t row = 0; row < 3 * head_size_; ++row) {
        for (std::size_t g = 0; g < globals.size(); ++g) {
          of_globals[row * global_stride + g] = rows[row * stride + first + globals[g]];
        }
      }
      const std::size_t part = head_size_ * global_stride;
      runs[kGlobal] = {of_globals,
                       of_globals + 3 * part,
                       {of_globals + part, of_globals + 2 * part, global_stride, globals.size()},
                       0};
    }
    const std::size_t most_keys = group.cls + group.query + document + globals.size();
    w.scores.grow((most_keys + 4 * kReach + 8) * kernels_.lanes);
    const auto attend = [&](std::int32_t from) {
      const Run& own = runs[from];
      Attention a;
      a.query = own.query;
      a.output = own.output;
      a.query_stride = a.output_stride = from == kGlobal ? global_stride : stride;
      a.tokens = own.keys.count;
      a.biases = biases;
      a.head_size = head_size_;
      a.arithmetic = projection_arithmetic_;
      a.scale = scale_;
      a.scores = w.scores.data();
      bool windows = false;
      // The document's run has the global tokens, too, hidden from its own.
      for (std::int32_t to = kCls; to <= (from == kDocument && !globals.empty() ? kGlobal : kDocument); ++to) {
        const View& view = views[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        Keys seen = runs[to].keys;
        if (view.kind == View::Kind::none || seen.count == 0) continue;
        const bool window = view.kind == View::Kind::window;
        if (from == to && (to == kDocument || (window && seen.count > 1))) {
          a.band = seen;
          a.window = window ? static_cast<std::size_t>(view.window) : seen.count;
          continue;
        }
        seen.offset = runs[to].position - own.position;
        if (window) {
          seen.window = static_cast<std::size_t>(view.window);
          windows = true;
        }
        a.segments[a.segment_count++] = seen;
      }
      if (from == kDocument && !globals.empty()) {
        float* const masks = w.masks.grow(document + 2 * kReach) + kReach;
        std::fill_n(masks - kReach, document + 2 * kReach, 0.0F);
        for (const std::size_t place : globals) masks[place] = -std::numeric_limits<float>::max();
        a.masks = masks;
      }
      if (a.tokens == 1 && from == kCls && !windows && biases == nullptr) {
        kernels_.attend_one(a);
      } else {
        kernels_.attend(a);
      }
    };
    if (group.cls > 0) attend(kCls);
    if (group.query_in_group) attend(kQuery);
    attend(kDocument);
    if (globals.empty()) continue;
    attend(kGlobal);
    for (std::size_t d = 0; d < head_size_; ++d) {
      for (std::size_t g = 0; g < globals.size(); ++g) {
        output[d * stride + first + globals[g]] = runs[kGlobal].output[d * global_stride + g];
      }
    }
  }
}

QueryStates Encoder::encode_query(const Segment& query, Team& team, const StopSignal& stop) const {
  QueryStates states;
  states.tokens = query.tokens();
  Group group;
  group.sequences.push_back({});
  group.tokens = query.tokens();
  group.vectors = whole_vectors(query.tokens());
  states.stride = group.vectors * kernels_.lanes;
  prepare_positions(static_cast<std::size_t>(query.positions.back()) + 1, team.group);
  std::vector<EmbeddingRows> tokens;
  for (std::size_t i = 0; i < query.tokens(); ++i) tokens.push_back(embedding(query, i));
  embed(tokens, team);
  for (std::size_t i = 0; i < whole_layers(); ++i) {
    stop.throw_if_due("encoding the query");
    Buffer<float>& kept = states.heads.emplace_back();
    kept.grow(heads_ * 2 * head_size_ * states.stride);
    block(layers_[i], group, team,
          [&](const Chunk&, std::size_t head, const float* rows, float* output, std::size_t stride, Workspace& own) {
            float* to = kept.data() + head * 2 * head_size_ * states.stride;
            for (std::size_t d = 0; d < 2 * head_size_; ++d) {
              std::copy_n(rows + (head_size_ + d) * stride, query.tokens(), to + d * states.stride);
            }
            own.scores.grow((query.tokens() + 2 * kReach + 8) * kernels_.lanes);
            Attention a;
            a.query = rows;
            a.output = output;
            a.query_stride = a.output_stride = stride;
            a.tokens = query.tokens();
            a.segments[0] = {to, to + head_size_ * states.stride, states.stride, query.tokens()};
            a.segment_count = 1;
            a.biases = biases_of(layers_[i], head, team.group);
            a.head_size = head_size_;
            a.scale = scale_;
            a.scores = own.scores.data();
            kernels_.attend(a);
          });
  }
  if (!last_is_short_) finish_states(team.group.x.data(), group.vectors);
  states.last.grow(hidden_ * states.stride);
  copy_tokens(team.group.x.data(), hidden_, 0, query.tokens(), states.last.data(), states.stride);
  return states;
}

void Encoder::copy_tokens(const float* activation, std::size_t features, std::size_t first, std::size_t tokens,
                          float* rows, std::size_t stride) const {
  const std::size_t panel = kernels_.panel;
  for (std::size_t done = 0; done < tokens;) {
    const std::size_t token = first + done, count = std::min(tokens - done, panel - token % panel);
    const float* from = place(activation, features, token);
    for (std::size_t f = 0; f < features; ++f) std::copy_n(from + f * panel, count, rows + f * stride + done);
    done += count;
  }
}

void Encoder::prepare(Encoded& encoded, std::size_t candidates) const {
  if (has_decoder()) {
    encoded.states.resize(std::max(encoded.states.size(), candidates));
  } else {
    encoded.cls.resize(candidates * 2 * hidden_);
  }
}

void Encoder::encode(const Segment& cls_token, const Segment& query, std::span<const Candidate> candidates,
                     const QueryStates* shared, Encoded& out, std::size_t first_candidate, Team& team,
                     const StopSignal& stop) const {
  const Group group = layout(cls_token, query, candidates, shared == nullptr);
  embed(cls_token, query, group, team);
  prepare_positions(positions_of(group), team.group);
  fill_rotations(cls_token, query, group, team.group);
  for (std::size_t i = 0; i < whole_layers(); ++i) {
    stop.throw_if_due("scoring the candidates");
    block(layers_[i], group, team,
          [&](const Chunk& chunk, std::size_t head, const float*, float*, std::size_t stride, Workspace& own) {
            Keys of_query;
            if (shared != nullptr) {
              const float* const keys = shared->heads[i].data() + head * 2 * head_size_ * shared->stride;
              of_query = {keys, keys + head_size_ * shared->stride, shared->stride, shared->tokens};
            }
            attend_chunk(layers_[i].views, group, chunk, of_query, biases_of(layers_[i], head, team.group), stride,
                         own);
          });
  }
  stop.throw_if_due("scoring the candidates");
  float* const x = team.group.x.data();
  if (!last_is_short_) {
    share_out(team, panels(group.vectors), panels(group.vectors),
              [&](std::size_t first, std::size_t count, Workspace&) {
                finish_states(x + first * padded(hidden_) * kernels_.panel, vectors_of(first, count, group.vectors));
              });
  }
  if (has_decoder()) {
    team.each(group.sequences.size(), [&](std::size_t index, Workspace&) {
      const Sequence& sequence = group.sequences[index];
      Encoded::States& to = out.states[first_candidate + index];
      to.tokens = group.tokens_of(sequence);
      to.stride = whole_vectors(to.tokens) * kernels_.lanes;
      to.query = group.query_in_group ? group.query : 0;
      copy_tokens(x, hidden_, sequence.first, to.tokens, to.rows.grow(hidden_ * to.stride), to.stride);
    });
    return;
  }
  float* const cls = out.cls.data() + first_candidate * 2 * hidden_;
  if (!last_is_short_) {
    pool(group, x, cls, 2 * hidden_);
    return;
  }
  const std::vector<Chunk> chunks = chunks_of(group, 1, team);
  team.each(chunks.size(), [&](std::size_t index, Workspace& own) {
    const std::span<const Sequence> some = chunks[index].sequences;
    const auto first = static_cast<std::size_t>(some.data() - group.sequences.data());
    last_attention(group, some, x, shared, cls + first * 2 * hidden_, own);
  });
}

void Encoder::finish_states(float* x, std::size_t vectors) const {
  if (!final_norm_.gamma.empty()) kernels_.norm(norm_of(final_norm_, x, vectors), {});
}

void Encoder::pool(const Group& group, const float* x, float* states, std::size_t stride) const {
  const std::vector<std::int32_t>& groups = description_.head.groups;
  const auto takes = [&](std::int32_t of) { return std::find(groups.begin(), groups.end(), of) != groups.end(); };
  for (std::size_t i = 0; i < group.sequences.size(); ++i) {
    const Sequence& sequence = group.sequences[i];
    std::vector<double> sums(hidden_);
    std::size_t tokens = 0;
    const auto add = [&](std::size_t first, std::size_t count) {
      tokens += count;
      for (std::size_t token = first; token < first + count; ++token) {
        const float* from = place(x, hidden_, token);
        for (std::size_t f = 0; f < hidden_; ++f) sums[f] += from[f * kernels_.panel];
      }
    };
    if (takes(kCls)) add(sequence.first, group.cls);
    if (takes(kQuery)) add(sequence.first + group.cls, group.query);
    // A head that takes the document's tokens takes its global ones, too.
    if (takes(kDocument)) add(group.first_document(sequence), sequence.document().tokens());
    for (std::size_t f = 0; f < hidden_; ++f) {
      states[i * stride + f] = static_cast<float>(sums[f] / static_cast<double>(tokens));
    }
  }
}

HiddenStates Encoder::hidden_states(const PairBatch& pair, Workspace& w) const {
  if (has_decoder()) {
    throw Error(ErrorKind::unsupported, "CPU backend", "does not show the hidden states of an encoder with a decoder",
                "use device = \"ref\"");
  }
  const std::size_t query = pair.query.tokens();
  const Candidate candidate{pair.documents.front(), pair.globals.front()};
  const Group group = layout(pair.cls, pair.query, {&candidate, 1}, true);
  std::vector<std::size_t> places[kGlobal + 1];  // of the tokens of each group
  places[kCls] = {0};
  for (std::size_t i = 0; i < query; ++i) places[kQuery].push_back(1 + i);
  for (std::size_t i = 0; i < candidate.document.tokens(); ++i) {
    const bool global = std::binary_search(candidate.globals.begin(), candidate.globals.end(), i);
    places[global ? kGlobal : kDocument].push_back(1 + query + i);
  }
  HiddenStates states;
  Team alone = Team::alone(w);
  embed(pair.cls, pair.query, group, alone);
  prepare_positions(positions_of(group), w);
  fill_rotations(pair.cls, pair.query, group, w);
  for (const Layer& layer : layers_) {
    block(layer, group, alone,
          [&](const Chunk& chunk, std::size_t head, const float*, float*, std::size_t stride, Workspace& own) {
            attend_chunk(layer.views, group, chunk, {}, biases_of(layer, head, w), stride, own);
          });
    std::vector<std::vector<float>>& segments = states.layers.emplace_back();
    for (const std::vector<std::size_t>& of_group : places) {
      if (of_group.empty()) continue;
      std::vector<float>& values = segments.emplace_back(of_group.size() * hidden_);
      for (std::size_t i = 0; i < of_group.size(); ++i) {
        copy_tokens(w.x.data(), hidden_, of_group[i], 1, values.data() + i * hidden_, 1);
      }
    }
  }
  float* cls = w.cls.grow(padded(hidden_) * kernels_.panel);
  finish_states(w.x.data(), group.vectors);
  std::vector<float> pooled(hidden_);
  pool(group, w.x.data(), pooled.data(), hidden_);
  put_token(pooled.data(), cls, hidden_, 0);
  head({&states.logit, 1}, w);
  return states;
}

}  // namespace relucent::cpu
