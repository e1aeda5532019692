#include <algorithm>

#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {

Norm Core::norm_of(const NormParameters& parameters, float* x, std::size_t vectors) const {
  return {.x = x,
          .gamma = parameters.gamma.data(),
          .beta = parameters.beta.data(),
          .epsilon = description_.norm_epsilon,
          .features = hidden_,
          .vectors = vectors,
          .bias = parameters.bias.empty() ? nullptr : parameters.bias.data(),
          .rms = description_.norm_kind == NormKind::rms};
}

void Core::multiply(const PackedLinear& linear, const float* activation, std::size_t features, std::size_t vectors,
                    Product::Output output, float* to, std::size_t to_features, Workspace& own) const {
  const OperandOut packed = operand(linear.arithmetic(), features, vectors, own.part_operand, own.part_scales);
  kernels_.pack(activation, features, vectors, packed);
  multiply(linear, packed, vectors, output, to, to_features);
}

void Core::norm_between(const NormParameters& parameters, float* x, std::size_t vectors, const OperandOut& out,
                        Workspace& own) const {
  if (parameters.gamma.empty()) {
    if (out.units != nullptr) kernels_.pack(x, hidden_, vectors, out);
    return;
  }
  Norm norm = norm_of(parameters, x, vectors);
  if (norms_before_) norm.to = own.normed.grow(panels(vectors) * padded(hidden_) * kernels_.panel);
  kernels_.norm(norm, out);
}

void Core::after_heads(const AfterHeads& layer, std::size_t vectors, Team& team) const {
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
void Core::after_heads_by_features(const AfterHeads& layer, std::size_t vectors, Team& team) const {
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
  // Features [first, end) of one panel; the output also starts at feature `first`.
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
  // A token's scale is known when all of the part's features are.
  const bool later = is_scaled(arithmetic_) || !layer.fused();
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

void Core::intermediate(const AfterHeads& layer, std::size_t first, std::size_t features, const OperandOut& in,
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
void Core::feed_forward(const AfterHeads& layer, float* x, std::size_t vectors, const OperandOut& next,
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
    if (is_scaled(arithmetic) || !layer.fused()) {
      // A token's scale depends on all of its features, so they wait for it: those of a few panels, in a near cache.
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

}  // namespace relucent::cpu
