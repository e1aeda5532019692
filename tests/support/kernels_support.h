#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/vector_kernels.h"
#include "relucent/error.h"
#include "relucent/kernels/backend.h"
#include "tests/support/expect_error.h"
#include "tests/support/required_device.h"

namespace relucent::testing {

/// Sizes of a made-up encoder; the pattern is the same in all layers.
struct Sizes {
  std::int32_t hidden = 64, heads = 4, intermediate = 128, layers = 2, vocabulary = 50, positions = 128;
};

inline constexpr unsigned kActivations = static_cast<unsigned>(Activation::tanh) + 1;

/// An encoder with random weights that it owns.
class RandomModel {
 public:
  explicit RandomModel(const Sizes& sizes, const AttentionPattern& pattern = {}, std::uint32_t seed = 1)
      : random_(seed) {
    description.groups = cross_encoder_groups();
    description.vocabulary_size = sizes.vocabulary;
    description.embedding_size = description.hidden_size = sizes.hidden;
    description.max_positions = sizes.positions;
    description.token_types = 2;
    Attention attention{.heads = sizes.heads, .head_size = sizes.hidden / sizes.heads};
    attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_size));
    attention.views = views_of(pattern);
    const Layer layer{{attention}, {.size = sizes.intermediate}};
    description.stacks = {
        {{kCls, kQuery, kDocument}, std::vector<Layer>(static_cast<std::size_t>(sizes.layers), layer)}};
    description.head = {.groups = {kCls}, .steps = {{.size = sizes.hidden, .activation = Activation::tanh}}};
    const std::int64_t hidden = sizes.hidden, intermediate = sizes.intermediate;
    weights.word_embeddings = tensor({sizes.vocabulary, hidden}, 1);
    weights.position_embeddings = tensor({sizes.positions, hidden}, 0.5F);
    weights.token_type_embeddings = tensor({2, hidden}, 0.5F);
    weights.embedding_norm = norm(hidden);
    weights.stacks.resize(1);
    for (std::int32_t i = 0; i < sizes.layers; ++i) {
      LayerWeights& of = weights.stacks.front().layers.emplace_back();
      AttentionWeights& self = of.attentions.emplace_back();
      self.query = linear(hidden, hidden, 1.5F);  // attention that prefers some keys clearly
      self.key = linear(hidden, hidden, 1.5F);
      self.value = linear(hidden, hidden);
      self.output = linear(hidden, hidden);
      self.norm = norm(hidden);
      of.feed_forward.in = linear(intermediate, hidden);
      of.feed_forward.out = linear(hidden, intermediate);
      of.feed_forward.norm = norm(hidden);
    }
    weights.head_steps = {{.dense = linear(hidden, hidden)}};
    weights.head_output = linear(1, hidden);
  }

  std::vector<Layer>& layers() { return description.stacks.front().layers; }
  std::vector<LayerWeights>& layer_weights() { return weights.stacks.front().layers; }

  void set_pattern(const AttentionPattern& pattern) {
    for (Layer& layer : layers()) layer.attentions.front().views = views_of(pattern);
  }

  /// Gives it DeBERTa's attention.
  void disentangle() {
    const std::int64_t hidden = description.hidden_size;
    PositionScheme scheme{.kind = PositionScheme::Kind::disentangled, .buckets = 32};
    if (random_() % 2 == 0) scheme.max_distance = 60;
    const auto kinds = random_() % 3;
    scheme.content_to_position = kinds != 0, scheme.position_to_content = kinds != 1;
    weights.relative_embeddings = tensor({scheme.buckets, hidden}, 1);
    if (random_() % 2 == 0) weights.relative_norm = norm(hidden);
    const bool shared = random_() % 2 == 0;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      Attention& attention = layers()[i].attentions.front();
      AttentionWeights& of = layer_weights()[i].attentions.front();
      attention.positions = scheme;
      attention.scale = 1 / std::sqrt(static_cast<double>(attention.head_size) * (kinds == 2 ? 3 : 2));
      of.relative_key = shared ? of.key : linear(hidden, hidden);
      of.relative_query = shared ? of.query : linear(hidden, hidden);
    }
  }

  /// Gives it a convolution after its first layer.
  void convolve() {
    const std::int64_t hidden = description.hidden_size;
    const std::int32_t size = random_() % 2 == 0 ? 3 : 5;
    description.stacks.front().convolution = Convolution{size, static_cast<Activation>(random_() % kActivations)};
    StackWeights& of = weights.stacks.front();
    of.convolution = {tensor({hidden, hidden, size}, 0.2F), linear(hidden, hidden).bias};
    of.convolution_norm = norm(hidden);
  }

  /// Makes of it, at random, an encoder as other families have it, of features that fit together.
  void vary() {
    const auto coin = [&] { return random_() % 2 == 0; };
    const std::int64_t hidden = description.hidden_size;
    if (coin()) {
      const std::int64_t size = description.embedding_size = 24;
      weights.word_embeddings = tensor({description.vocabulary_size, size}, 1);
      weights.position_embeddings = tensor({description.max_positions, size}, 0.5F);
      weights.token_type_embeddings = tensor({description.token_types, size}, 0.5F);
      weights.embedding_norm = norm(size);
      weights.embedding_projection = linear(hidden, size);
    }
    const bool before = coin(), rotary = coin(), windows = coin();
    if (rotary || coin()) description.max_positions = 0, weights.position_embeddings = {};
    if (coin()) description.token_types = 0, weights.token_type_embeddings = {};
    for (std::size_t i = 0; i < layers().size(); ++i) {
      Attention& attention = layers()[i].attentions.front();
      FeedForward& feed_forward = layers()[i].feed_forward;
      feed_forward.activation = static_cast<Activation>(random_() % kActivations);
      feed_forward.gated = coin();
      if (feed_forward.gated) layer_weights()[i].feed_forward.gate = linear(feed_forward.size, hidden);
      if (before) attention.norm = feed_forward.norm = NormPlacement::before;
      if (before && i == 0 && coin()) {
        attention.norm = NormPlacement::none;
        layer_weights()[i].attentions.front().norm = {};
      }
      if (rotary) attention.positions = {PositionScheme::Kind::rotary, coin() ? 10000.0 : 20.0};
      for (auto& from : attention.views) {
        for (View& view : from) {
          if (view.kind == View::Kind::none || !windows || coin()) continue;
          view = {View::Kind::window, static_cast<std::int32_t>(1 + random_() % 30)};
        }
      }
    }
    description.stacks.front().final_norm = before;
    weights.stacks.front().final_norm = norm(hidden);
    Head& head = description.head;
    if (coin()) head.groups = {kCls, kQuery, kDocument};
    head.steps.clear();
    weights.head_steps.clear();
    std::int32_t size = description.hidden_size;
    for (std::size_t steps = random_() % 4; steps > 0; --steps) {
      HeadStep step{.size = coin()   ? 0
                            : coin() ? size
                                     : 24,
                    .activation = static_cast<Activation>(random_() % kActivations),
                    .norm = coin(),
                    .norm_epsilon = coin() ? 0.0F : 0.5F};
      const std::int32_t inputs = std::exchange(size, step.size > 0 ? step.size : size);
      if (coin()) step.residual = size == inputs ? HeadStep::Residual::input : HeadStep::Residual::projected;
      head.steps.push_back(step);
      weights.head_steps.push_back({linear(size, inputs), linear(size, inputs), norm(size)});
    }
    head.outputs = coin() ? 1 : 3;
    weights.head_output = linear(head.outputs, size);
  }

  /// Gives it at random, after vary(), what only DeBERTa has and what no global tokens may meet.
  void vary_as_deberta() {
    const Layer& first = layers().front();
    const bool rotary = first.attentions.front().positions.kind == PositionScheme::Kind::rotary;
    if (!rotary && random_() % 2 == 0) disentangle();
    if (first.feed_forward.norm == NormPlacement::after && random_() % 2 == 0) convolve();
  }

  /// Gives it at random, after vary(), what only T5 has and an encoder without a decoder may have as well.
  void vary_as_t5() {
    const auto coin = [&] { return random_() % 2 == 0; };
    if (coin()) description.norm_kind = NormKind::rms;
    if (description.head.steps.empty()) description.head.scale = 0.5;
    const bool placed = layers().front().attentions.front().positions.kind != PositionScheme::Kind::none;
    if (!placed && coin()) relate();
    const std::int32_t head_size = coin() ? 24 : description.hidden_size / layers().front().attentions.front().heads;
    const double scale = coin() ? 0.4 : 1 / std::sqrt(static_cast<double>(head_size));
    for (std::size_t i = 0; i < layers().size(); ++i) {
      Attention& attention = layers()[i].attentions.front();
      attention.head_size = head_size, attention.scale = scale;
      LayerWeights& of = layer_weights()[i];
      NormWeights norm_of = of.attentions.front().norm;
      of.attentions.front() = heads_of(attention, std::exchange(of.attentions.front().relative_bias, {}));
      of.attentions.front().norm = norm_of;
    }
  }

  /// Makes of it T5: query and document pass through its layers, one token through a second stack. Maps have biases,
  /// which T5 lacks, if `biased`.
  void add_decoder(std::int32_t head_size, bool biased) {
    const auto coin = [&] { return random_() % 2 == 0; };
    const std::int64_t hidden = description.hidden_size;
    description.max_positions = description.token_types = 0;
    weights.position_embeddings = weights.token_type_embeddings = {};
    description.embedding_norm = false;
    description.norm_kind = NormKind::rms;
    Stack& encoder = description.stacks.front();
    encoder.groups = {kQuery, kDocument};
    encoder.final_norm = true;
    weights.stacks.front().final_norm = norm(hidden);
    Stack decoder{{kCls}, {}, true};
    weights.stacks.emplace_back().final_norm = norm(hidden);
    const Views pattern = layers().front().attentions.front().views;
    const auto activation = static_cast<Activation>(random_() % kActivations);
    const bool gated = coin();
    const auto rest = [&](FeedForward& form, LayerWeights& of) {
      form.norm = NormPlacement::before;
      form.activation = activation, form.gated = gated;
      of.feed_forward = {norm(hidden), linear(form.size, hidden), {}, linear(hidden, form.size)};
      if (gated) of.feed_forward.gate = linear(form.size, hidden);
      if (biased) return;
      for (AttentionWeights& attention : of.attentions) {
        for (LinearWeights* map : {&attention.query, &attention.key, &attention.value, &attention.output}) {
          map->bias = {};
        }
      }
      for (LinearWeights* map : {&of.feed_forward.in, &of.feed_forward.gate, &of.feed_forward.out}) map->bias = {};
    };
    for (std::size_t i = 0; i < layers().size(); ++i) {
      Attention& attention = layers()[i].attentions.front();
      attention.norm = NormPlacement::before;
      attention.head_size = head_size, attention.scale = 0.6;
      attention.views[kCls].clear();
      for (const std::int32_t group : encoder.groups) attention.views[static_cast<std::size_t>(group)][kCls] = {};
    }
    relate();
    for (std::size_t i = 0; i < layers().size(); ++i) {
      AttentionWeights& of = layer_weights()[i].attentions.front();
      of = heads_of(layers()[i].attentions.front(), of.relative_bias);
      rest(layers()[i].feed_forward, layer_weights()[i]);

      Attention own = layers()[i].attentions.front();
      own.positions = {};
      own.views = Views(3);
      own.views[kCls] = {{View::Kind::all}, {}, {}};
      Attention cross = own;
      cross.views[kCls] = {{}, pattern[kCls][kQuery], pattern[kCls][kDocument]};
      Layer& layer = decoder.layers.emplace_back(Layer{{own, cross}, layers()[i].feed_forward});
      LayerWeights& of_layer = weights.stacks.back().layers.emplace_back();
      of_layer.attentions = {heads_of(own, {}), heads_of(cross, {})};
      rest(layer.feed_forward, of_layer);
    }
    description.stacks.push_back(decoder);
    description.head = {.groups = {kCls}, .scale = 0.3, .outputs = 2};
    weights.head_steps.clear();
    weights.head_output = linear(2, hidden, 4);
  }

  /// Adds a fourth group, which sees, and is seen, like the document, but without windows; D gets `window` on itself.
  void add_global_tokens(std::int32_t window) {
    constexpr std::int32_t global = 3;
    constexpr View all{View::Kind::all};
    description.groups.push_back({"sentences", Dependence::pair});
    description.stacks.front().groups.push_back(global);
    for (Layer& layer : layers()) {
      Views& views = layer.attentions.front().views;
      for (const std::int32_t of : {kCls, kQuery}) {
        for (View* view : {&views[of][kDocument], &views[kDocument][of]}) {
          if (view->kind == View::Kind::window) *view = all;
        }
      }
      views[kDocument][kDocument] = all;
      for (auto& of_group : views) of_group.push_back(of_group[kDocument]);
      views.push_back(views[kDocument]);
      views[kDocument][kDocument] = {View::Kind::window, window};
    }
    std::vector<std::int32_t>& pooled = description.head.groups;
    if (std::find(pooled.begin(), pooled.end(), kDocument) != pooled.end()) pooled.push_back(global);
  }

  /// Makes of it a MixEncoder whose candidates have `context` states and read the keys of these layers.
  void make_mix_encoder(Derivation::Kind kind, std::int32_t context, const std::vector<std::int32_t>& keys_of,
                        Pooling hint, Pooling pooling) {
    const std::int64_t hidden = description.hidden_size;
    description.groups = interaction_groups(kind, context);
    Layer interaction = layers().front();
    for (Layer& layer : layers()) layer.attentions.front().views = interaction_text_views();
    description.stacks = {{{kQuery, kDocument}, layers()}, {{kContext, kCls}, {}}};
    weights.stacks.resize(2);
    weights.codes = tensor({context, hidden}, 1);
    const LinearWeights gate = linear(hidden, 3 * hidden, 2);
    for (const std::int32_t layer : keys_of) {
      Attention& attention = interaction.attentions.front();
      attention.views = interaction_views();
      attention.keys_of_layer = layer;
      attention.gated = GatedToken{kCls, kContext, hint};
      description.stacks.back().layers.push_back(interaction);
      LayerWeights& of = weights.stacks.back().layers.emplace_back();
      AttentionWeights& self = of.attentions.emplace_back();
      for (LinearWeights* each : {&self.query, &self.key, &self.gated_query}) *each = linear(hidden, hidden, 1.5F);
      self.value = linear(hidden, hidden);
      self.output = linear(hidden, hidden);
      self.norm = norm(hidden);
      self.gate = gate;
      const std::int64_t inner = interaction.feed_forward.size;
      of.feed_forward = {norm(hidden), linear(inner, hidden), {}, linear(hidden, inner)};
    }
    description.head = {.groups = {kContext}, .pooling = pooling, .dot_with = kCls};
    weights.head_steps.clear();
  }

  /// Lets candidates see each other through [CLS].
  void make_set() {
    constexpr View all{View::Kind::all}, across{View::Kind::across};
    for (Layer& layer : layers()) layer.attentions.front().views = Views(3, {across, all, all});
  }

  /// Adds, after make_set(), a token of its own through which they do.
  void add_interaction() {
    description.groups.push_back({"interaction", Dependence::nothing});
    description.stacks.front().groups.push_back(kInteraction);
    constexpr View all{View::Kind::all}, across{View::Kind::across};
    for (Layer& layer : layers()) layer.attentions.front().views = Views(4, {all, all, all, across});
  }

  /// Makes of it a decoder alone with norms before the sub-blocks, whose heads of 12 features share keys and values.
  void make_causal(std::int32_t key_heads, bool norms_heads) {
    const std::int64_t hidden = description.hidden_size;
    description.max_positions = description.token_types = 0;
    weights.position_embeddings = weights.token_type_embeddings = {};
    description.embedding_norm = false;
    description.norm_kind = NormKind::rms;
    Stack& stack = description.stacks.front();
    stack.groups = {kQuery, kDocument};
    stack.final_norm = true;
    weights.stacks.front().final_norm = norm(hidden);
    for (std::size_t i = 0; i < layers().size(); ++i) {
      Attention& attention = layers()[i].attentions.front();
      attention.norm = layers()[i].feed_forward.norm = NormPlacement::before;
      attention.key_heads = key_heads;
      attention.head_size = 12;
      attention.scale = 0.3;
      attention.norms_heads = norms_heads;
      attention.positions = {PositionScheme::Kind::rotary, 100.0};
      constexpr View all{View::Kind::all}, before{View::Kind::before};
      attention.views = {{}, {{}, before, {}}, {{}, all, before}};
      const std::int64_t width = 12 * std::int64_t{attention.heads}, of_keys = 12 * std::int64_t{key_heads};
      AttentionWeights& self = layer_weights()[i].attentions.front();
      self.query = linear(width, hidden, 1.5F);
      self.key = linear(of_keys, hidden, 1.5F);
      self.value = linear(of_keys, hidden);
      self.output = linear(hidden, width);
      self.query_norm = tensor({12}, 0.1F, 1);
      self.key_norm = tensor({12}, 0.1F, 1);
      layers()[i].feed_forward.gated = true;
      layers()[i].feed_forward.activation = Activation::silu;
      layer_weights()[i].feed_forward.gate = linear(layers()[i].feed_forward.size, hidden);
    }
    description.head = {.groups = {kDocument}, .pooling = Pooling::last};
    weights.head_steps.clear();
  }

  /// Makes of it an encoder of late interaction; tokens of each second layer see `window` tokens on both sides.
  void make_late_interaction(std::int32_t size, std::int32_t window, bool unit) {
    const std::vector<std::int32_t> groups = {kDocument, kExpansion};
    description.groups = late_interaction_groups();
    description.stacks.front().groups = groups;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      const View view = i % 2 == 0 ? View{View::Kind::all} : View{View::Kind::window, window};
      layers()[i].attentions.front().views = late_interaction_views(view);
      if (window % 2 == 0) layers()[i].attentions.front().positions = {PositionScheme::Kind::rotary, 100.0};
    }
    description.head = {.groups = groups, .steps = {{.size = size}}, .per_token = true, .unit_vectors = unit};
    weights.head_steps = {{.dense = linear(size, description.hidden_size)}};
    weights.head_output = {};
  }

  /// Makes of it an encoder of documents in passages, whose pivots are of [CLS] and twice of the document.
  void make_exchanges() {
    const std::int64_t hidden = description.hidden_size;
    description.groups.push_back({.name = "of passages", .input = Dependence::pair, .pivots_of = kCls});
    description.groups.push_back({.name = "of sentences", .input = Dependence::pair, .pivots_of = kDocument});
    description.groups.push_back({.name = "of words", .input = Dependence::pair, .pivots_of = kDocument});
    Exchange exchange{{3, 4, 5}, layers().front()};
    Views& between = exchange.layer.attentions.front().views;
    between.assign(6, {});
    for (const std::size_t group : {3, 4, 5}) {
      between[group].resize(6);
      between[group][group] = {View::Kind::linked};
    }
    for (Layer& layer : layers()) {
      Views& views = layer.attentions.front().views;
      for (std::vector<View>& row : views) row.resize(6);
      views.resize(6);
      weights.stacks.front().exchanges.push_back({layer_weights().front(), linear(hidden, 2 * hidden)});
    }
    description.stacks.front().exchanges.assign(layers().size(), exchange);
    description.stacks.front().exchanges.back().combines = false;
    weights.stacks.front().exchanges.back().combine = {};
    description.head = {.groups = {3, 4, 5},
                        .pivots = PivotPooling{.heads = layers().front().attentions.front().heads},
                        .steps = {{.size = description.hidden_size}}};
    for (int group = 0; group < 3; ++group) {
      weights.head_pooling.push_back({tensor({hidden}, 1), linear(hidden, hidden), linear(hidden, hidden),
                                      linear(hidden, hidden), linear(hidden, hidden)});
    }
    weights.head_steps = {{.dense = linear(hidden, 3 * hidden)}};
  }

  std::unique_ptr<Backend> on(const BackendOptions& options) const {
    return create_backend(description, weights, options);
  }

  std::vector<std::int32_t> tokens(std::size_t count) {
    std::uniform_int_distribution<std::int32_t> id(0, description.vocabulary_size - 1);
    std::vector<std::int32_t> ids(count);
    for (std::int32_t& each : ids) each = id(random_);
    return ids;
  }

  /// The values of all tensors, also of those that own() has replaced.
  std::span<const std::unique_ptr<std::vector<float>>> owned() const { return owned_; }
  /// Replaces a tensor's values.
  void own(TensorView& tensor, std::vector<float> values) {
    owned_.push_back(std::make_unique<std::vector<float>>(std::move(values)));
    tensor.data = reinterpret_cast<const std::byte*>(owned_.back()->data());
  }

  EncoderDescription description;
  EncoderWeights weights;

 private:
  TensorView tensor(const std::vector<std::int64_t>& shape, float spread, float centre = 0) {
    TensorView view;
    view.shape = shape;
    std::vector<float> values(view.elements());
    std::normal_distribution<float> normal(centre, spread);
    for (float& value : values) value = normal(random_);
    own(view, std::move(values));
    return view;
  }
  LinearWeights linear(std::int64_t out, std::int64_t in, float gain = 1) {
    return {tensor({out, in}, gain / std::sqrt(static_cast<float>(in))), tensor({out}, 0.1F)};
  }
  AttentionWeights heads_of(const Attention& form, TensorView relative_bias) {
    const std::int64_t hidden = description.hidden_size, width = std::int64_t{form.heads} * form.head_size;
    AttentionWeights of;
    of.query = linear(width, hidden, 1.5F);
    of.key = linear(width, hidden, 1.5F);
    of.value = linear(width, hidden);
    of.output = linear(hidden, width);
    of.norm = norm(hidden);
    of.relative_bias = std::move(relative_bias);
    return of;
  }
  /// Gives its layers biases by distance, the same to all or to each its own.
  void relate() {
    const PositionScheme scheme{
        .kind = PositionScheme::Kind::relative_buckets, .buckets = 16, .max_distance = random_() % 2 == 0 ? 40 : 12};
    const bool shared = random_() % 2 == 0;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      Attention& attention = layers()[i].attentions.front();
      attention.positions = scheme;
      TensorView& bias = layer_weights()[i].attentions.front().relative_bias;
      bias = shared && i > 0 ? layer_weights().front().attentions.front().relative_bias
                             : tensor({scheme.buckets, attention.heads}, 1.5F);
    }
  }
  NormWeights norm(std::int64_t hidden) { return {tensor({hidden}, 0.1F, 1), tensor({hidden}, 0.1F)}; }

  std::mt19937 random_;
  std::vector<std::unique_ptr<std::vector<float>>> owned_;
};

/// [CLS], a query and documents as the segments of BERT's input. What it is made of must outlive it.
class PairSegments {
 public:
  PairSegments(std::int32_t cls, std::span<const std::int32_t> query,
               const std::vector<std::vector<std::int32_t>>& documents, std::int32_t document_type = 1,
               bool with_cls = true, bool interacts = false)
      : cls_(cls) {
    const std::size_t first = interacts ? 2 : 1;  // of the query's tokens
    positions_.resize(first + query.size());
    for (const auto& document : documents) {
      positions_.resize(std::max(positions_.size(), first + query.size() + document.size()));
    }
    std::iota(positions_.begin(), positions_.end(), 0);
    const std::span<const std::int32_t> positions(positions_);
    shared_ = {{kQuery, query, positions.subspan(first, query.size())}};
    if (with_cls) shared_.insert(shared_.begin(), {kCls, {&cls_, 1}, positions.first(1)});
    if (interacts) shared_.push_back({kInteraction, {&interaction_, 1}, positions.subspan(1, 1)});
    for (const auto& document : documents) {
      documents_.push_back(
          {kDocument, document, positions.subspan(first + query.size(), document.size()), document_type});
    }
    for (const Segment& document : documents_) candidates_.emplace_back(&document, 1);
  }
  PairSegments(const PairSegments&) = delete;
  PairSegments& operator=(const PairSegments&) = delete;

  ScoringBatch batch() const { return {shared_, candidates_}; }

 private:
  std::int32_t cls_, interaction_ = 2;
  std::vector<std::int32_t> positions_;
  std::vector<Segment> shared_, documents_;
  std::vector<std::span<const Segment>> candidates_;
};

/// A query and documents that own their ids.
struct Pairs {
  std::vector<std::int32_t> query;
  std::vector<std::vector<std::int32_t>> documents;
  std::int32_t document_type = 1;
  bool with_cls = true, interacts = false;

  std::vector<float> logits(const Backend& backend, const StopSignal& stop = {}) const {
    std::vector<float> scores(documents.size(), std::nanf(""));
    backend.score(PairSegments(1, query, documents, document_type, with_cls, interacts).batch(), scores, stop);
    return scores;
  }
  /// The hidden states of the only document.
  HiddenStates states(const Backend& backend) const {
    return backend.hidden_states(PairSegments(1, query, documents, document_type, with_cls).batch());
  }
};

inline Pairs random_pairs(RandomModel& model, std::size_t query, const std::vector<std::size_t>& documents) {
  Pairs pairs{model.tokens(query), {}, 1};
  for (const std::size_t length : documents) pairs.documents.push_back(model.tokens(length));
  return pairs;
}

/// A query and documents, each with no, some or mostly tokens of group 3. RandomModel::add_global_tokens has added it.
class GlobalPairs {
 public:
  GlobalPairs(RandomModel& model, std::size_t query, const std::vector<std::size_t>& lengths, std::uint32_t seed)
      : query_(model.tokens(query)), positions_(1 + query), documents_(lengths.size()) {
    std::iota(positions_.begin(), positions_.end(), 0);
    const std::span<const std::int32_t> positions(positions_);
    shared_ = {{kCls, {&cls_, 1}, positions.first(1)}, {kQuery, query_, positions.subspan(1)}};
    std::mt19937 random(seed);
    const std::int32_t type = model.description.token_types > 0 ? 1 : 0;
    for (std::size_t d = 0; d < lengths.size(); ++d) {
      Document& document = documents_[d];
      const std::vector<std::int32_t> ids = model.tokens(lengths[d]);
      const std::size_t share = (seed + d) % 4, text = random() % ids.size();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::size_t which = i != text && random() % 4 < share ? 1 : 0;
        document.ids[which].push_back(ids[i]);
        document.positions[which].push_back(static_cast<std::int32_t>(1 + query + i));
      }
      document.segments = {{kDocument, document.ids[0], document.positions[0], type}};
      if (!document.ids[1].empty()) document.segments.push_back({3, document.ids[1], document.positions[1], type});
      candidates_.emplace_back(document.segments);
    }
  }
  GlobalPairs(const GlobalPairs&) = delete;
  GlobalPairs& operator=(const GlobalPairs&) = delete;

  std::vector<float> logits(const Backend& backend) const { return logits(backend, 0, candidates_.size()); }
  std::vector<float> logits(const Backend& backend, std::size_t first, std::size_t count) const {
    std::vector<float> scores(count, std::nanf(""));
    backend.score({shared_, std::span(candidates_).subspan(first, count)}, scores);
    return scores;
  }
  HiddenStates states(const Backend& backend, std::size_t document) const {
    return backend.hidden_states({shared_, std::span(candidates_).subspan(document, 1)});
  }

 private:
  struct Document {
    std::vector<std::int32_t> ids[2], positions[2];  // D's, then group 3's
    std::vector<Segment> segments;
  };

  std::int32_t cls_ = 1;
  std::vector<std::int32_t> query_, positions_;
  std::vector<Segment> shared_;
  std::vector<Document> documents_;
  std::vector<std::span<const Segment>> candidates_;
};

inline std::vector<float> random_numbers(std::size_t count, float spread = 1, std::uint32_t seed = 7) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

inline std::vector<const cpu::VectorKernels*> all_levels() {
  const cpu::VectorLevels found = cpu::available_vector_kernels();
  std::vector<const cpu::VectorKernels*> levels;
  for (std::size_t i = 0; i < found.count; ++i) levels.push_back(found.levels[i]);
  return levels;
}

/// A way to run a backend, and how far it may be from the truth.
struct Way {
  BackendOptions options;
  double tolerance = 0;

  bool on_gpu() const { return options.device.kind == Device::Kind::cuda; }
};

inline std::string name_of(const Way& way) {
  std::string name = way.on_gpu() ? to_string(way.options.device) : way.options.instruction_set;
  std::replace(name.begin(), name.end(), ':', '_');
  return name + '_' + to_string(way.options.precision);
}

inline std::ostream& operator<<(std::ostream& out, const Way& way) { return out << name_of(way); }

/// The CPU in every instruction set of this machine and every precision; or, where RELUCENT_TEST_DEVICE names a GPU,
/// that in every precision of its own.
inline std::vector<Way> ways(int threads = 2) {
  std::vector<Way> all;
  if (const char* device = std::getenv("RELUCENT_TEST_DEVICE")) {
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
      all.push_back({{parse_device(device), precision, threads, ""}, precision == Precision::fp32 ? 1e-4 : 5e-2});
    }
    return all;
  }
  const auto add = [&](const std::string& level) {
    all.push_back({{Device::cpu(), Precision::fp32, threads, level}, 1e-4});
    all.push_back({{Device::cpu(), Precision::bf16, threads, level}, 5e-2});
    all.push_back({{Device::cpu(), Precision::int16, threads, level}, 2e-2});
    // Made-up weights are harder than trained ones: their rows' widest elements are far from the others.
    all.push_back({{Device::cpu(), Precision::int8, threads, level}, 2e-1});
  };
  for (const cpu::VectorKernels* level : all_levels()) add(level->name);
  return all;
}

/// Without the tile kernels' twin, which is slow and has tests of its own.
inline std::vector<Way> fast_ways() {
  std::vector<Way> some = ways();
  std::erase_if(some, [](const Way& way) { return way.options.instruction_set == "amx_emulated"; });
  return some;
}

/// Whether GPUs are emulated, or the processor is, or a tool watches the GPU (RELUCENT_TEST_SLOW_DEVICE): many times
/// slower, so that tests do less.
inline bool emulated() {
  return std::getenv("RELUCENT_CUDA_EMULATOR") != nullptr || std::getenv("RELUCENT_TEST_SLOW_DEVICE") != nullptr;
}

/// Tests that run every way; those that this machine has not are skipped.
class OnEveryWay : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { RELUCENT_NEEDS_DEVICE(RandomModel({}).on(GetParam().options)); }
};

inline double furthest(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::nan("");
  double distance = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double here = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(here <= distance)) distance = here;  // keeps a NaN
    if (std::isnan(distance)) break;
  }
  return distance;
}

}  // namespace relucent::testing
