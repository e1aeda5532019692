#include "kernels/pair_form.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "relucent/error.h"

namespace relucent {
namespace {

constexpr const char* kUseRef = "use device = \"ref\"";

[[noreturn]] void refuse(const std::string& place, const std::string& problem) {
  throw Error(ErrorKind::unsupported, place, problem, kUseRef);
}

const char* name_of(FastPath path) { return path == FastPath::cpu ? "CPU backend" : "CUDA backend"; }

const char* name_of(EncoderKind kind) {
  switch (kind) {
    case EncoderKind::pair: return "an encoder of pairs";
    case EncoderKind::decoder: return "an encoder with a decoder";
    case EncoderKind::causal: return "a causal decoder";
    case EncoderKind::set: return "an encoder of sets of candidates";
    case EncoderKind::interaction: return "an encoder of candidates apart from the query";
    case EncoderKind::exchange: return "an encoder of documents in passages";
    case EncoderKind::texts: return "an encoder of late interaction";
  }
  return "";
}

/// Which fast paths compute a feature. `ref` computes all.
enum class Computed { neither, cpu_only, both };

struct FeatureFacts {
  const char* name;
  Computed computed;
};

// Without `default`, so that a new feature does not compile until this states who computes it.
FeatureFacts facts_of(Feature feature) {
  switch (feature) {
    case Feature::embedding_projection: return {"an embedding size other than the hidden size", Computed::both};
    case Feature::no_position_table: return {"an encoder without position embeddings", Computed::both};
    case Feature::no_token_types: return {"an encoder without token type embeddings", Computed::both};
    case Feature::no_embedding_norm: return {"embeddings without a norm", Computed::both};
    case Feature::global_tokens:
      return {"tokens of the document that see all of it (starts of sentences)", Computed::both};
    case Feature::other_groups: return {"groups of tokens other than [CLS], query and document", Computed::neither};
    case Feature::interaction: return {"candidates encoded apart from the query", Computed::both};
    case Feature::derived_groups: return {"states derived from those of other tokens", Computed::neither};
    case Feature::gated_tokens: return {"gated tokens", Computed::neither};
    case Feature::exchanges: return {"exchanges between the passages of a document", Computed::both};
    case Feature::pivots_alone: return {"passages that meet only when they are pooled", Computed::cpu_only};
    case Feature::pivot_pooling: return {"passages pooled by a maximum or a Transformer", Computed::cpu_only};
    case Feature::decoder: return {"a decoder", Computed::both};
    case Feature::causal: return {"a causal decoder", Computed::cpu_only};
    case Feature::set: return {"candidates that see each other", Computed::both};
    case Feature::token_vectors: return {"late interaction", Computed::both};
    case Feature::several_stacks: return {"several stacks of layers", Computed::neither};
    case Feature::several_attentions: return {"several attentions in one layer (a decoder)", Computed::neither};
    case Feature::keys_of_other_stacks: return {"keys and values of another stack's layer", Computed::neither};
    case Feature::different_layers: return {"layers of different sizes", Computed::neither};
    case Feature::norm_before: return {"norms before the sub-blocks (pre-norm)", Computed::both};
    case Feature::mixed_norms: return {"norms before some sub-blocks and not before others", Computed::neither};
    case Feature::rms_norm: return {"RMSNorm", Computed::both};
    case Feature::rotary_positions: return {"rotary positions (RoPE)", Computed::both};
    case Feature::relative_positions: return {"relative positions", Computed::both};
    case Feature::disentangled_attention: return {"disentangled attention (DeBERTa)", Computed::both};
    case Feature::convolution: return {"a convolution after the first layer", Computed::both};
    case Feature::attention_scale: return {"an attention scale other than 1/sqrt(head size)", Computed::both};
    case Feature::attention_width: return {"heads whose sizes do not add up to the hidden size", Computed::both};
    case Feature::window_beyond_document: return {"an attention window outside the document", Computed::both};
    case Feature::blind_group: return {"a group of tokens that does not see itself", Computed::neither};
    case Feature::view_before: return {"causal attention outside a decoder", Computed::neither};
    case Feature::shared_keys: return {"heads that share keys and values outside a decoder", Computed::neither};
    case Feature::head_norms: return {"norms of queries and keys outside a decoder", Computed::neither};
    case Feature::view_across: return {"attention across candidates", Computed::neither};
    case Feature::relu: return {"ReLU", Computed::both};
    case Feature::silu: return {"SiLU", Computed::both};
    case Feature::gelu_tanh: return {"GELU with tanh", Computed::both};
    case Feature::gelu_10: return {"GELU of at most 10", Computed::both};
    case Feature::quick_gelu: return {"quick GELU", Computed::both};
    case Feature::mish: return {"Mish", Computed::both};
    case Feature::no_activation: return {"a feed-forward without activation", Computed::both};
    case Feature::tanh: return {"a feed-forward with tanh", Computed::both};
    case Feature::gated_feed_forward: return {"a gated feed-forward", Computed::both};
    case Feature::head_of_other_groups: return {"a head on tokens other than [CLS]", Computed::both};
    case Feature::head_pooling: return {"a head that pools otherwise than by the mean", Computed::neither};
    case Feature::head_scale: return {"a scale in the head", Computed::both};
    case Feature::head_steps: return {"a head with other steps than a dense layer and tanh", Computed::both};
    case Feature::several_outputs: return {"a head with several outputs", Computed::both};
    case Feature::labels: return {"labels of other encoders than of pairs and interactions", Computed::neither};
    case Feature::dot_head: return {"a head that multiplies the states of two groups", Computed::neither};
  }
  return {};
}

bool is_window(const View& view) { return view.kind == View::Kind::window; }

/// What a token of a group sees of another one.
View view(const Attention& attention, std::int32_t from, std::int32_t to) {
  const auto row = static_cast<std::size_t>(from), column = static_cast<std::size_t>(to);
  if (row >= attention.views.size() || attention.views[row].empty()) return {};
  return attention.views[row][column];
}

bool is_causal(const EncoderDescription& d) {
  using Groups = std::vector<std::int32_t>;
  if (d.groups.size() != kGlobal || d.groups[kQuery].input != Dependence::query ||
      within(d.groups[kDocument].input, Dependence::query) || d.stacks.size() != 1 ||
      d.stacks.front().groups != Groups{kQuery, kDocument} || !d.stacks.front().exchanges.empty() ||
      d.stacks.front().convolution || d.head.groups != Groups{kDocument} || d.head.pooling != Pooling::last ||
      d.head.pivots || d.head.dot_with) {
    return false;
  }
  return std::ranges::all_of(d.stacks.front().layers, [](const Layer& layer) {
    if (layer.attentions.size() != 1) return false;
    const Attention& attention = layer.attentions.front();
    const bool placed = attention.positions.kind == PositionScheme::Kind::none ||
                        attention.positions.kind == PositionScheme::Kind::rotary;
    const auto kind = [&](std::int32_t from, std::int32_t to) { return view(attention, from, to).kind; };
    return placed && kind(kQuery, kQuery) == View::Kind::before && kind(kQuery, kDocument) == View::Kind::none &&
           kind(kDocument, kQuery) == View::Kind::all && kind(kDocument, kDocument) == View::Kind::before;
  });
}

bool is_set(const EncoderDescription& d) {
  using Groups = std::vector<std::int32_t>;
  const bool token = d.groups.size() == kInteraction + 1;
  const Groups all = token ? Groups{kCls, kQuery, kDocument, kInteraction} : Groups{kCls, kQuery, kDocument};
  const std::int32_t seen = token ? kInteraction : kCls;
  if (d.groups.size() != all.size() || d.stacks.size() != 1 || d.stacks.front().groups != all ||
      d.groups[kCls].input != Dependence::nothing || d.groups[kQuery].input != Dependence::query ||
      within(d.groups[kDocument].input, Dependence::query) ||
      d.groups[static_cast<std::size_t>(seen)].input != Dependence::nothing || !d.stacks.front().exchanges.empty() ||
      d.stacks.front().convolution || (d.head.groups != Groups{kCls} && d.head.groups != all) ||
      d.head.pooling != Pooling::mean || d.head.pivots || d.head.dot_with) {
    return false;
  }
  return std::ranges::all_of(d.stacks.front().layers, [&](const Layer& layer) {
    if (layer.attentions.size() != 1) return false;
    const Attention& attention = layer.attentions.front();
    if (attention.positions.kind != PositionScheme::Kind::none || attention.norm != NormPlacement::after) return false;
    for (const std::int32_t from : all) {
      for (const std::int32_t to : all) {
        const View wanted{to == seen ? View::Kind::across : View::Kind::all};
        if (view(attention, from, to) != wanted) return false;
      }
    }
    return true;
  });
}

bool is_texts(const EncoderDescription& d) {
  const std::vector<std::int32_t> both = {kDocument, kExpansion};
  if (!d.head.per_token || d.groups.size() != kExpansion + 1 || d.stacks.size() != 1 ||
      d.stacks.front().groups != both || d.head.groups != both || d.head.scale != 1 ||
      d.head.steps.size() != (d.head.per_text ? 0U : 1U) || !d.stacks.front().exchanges.empty() ||
      d.stacks.front().convolution) {
    return false;
  }
  const HeadStep projection{.size = d.head_size()};
  const bool pools = d.head.pooling == Pooling::mean || d.head.pooling == Pooling::first;
  if (d.head.per_text ? !pools : d.head.steps.front() != projection || projection.size < 1) return false;
  return std::ranges::all_of(d.stacks.front().layers, [](const Layer& layer) {
    if (layer.attentions.size() != 1) return false;
    const Attention& attention = layer.attentions.front();
    const View seen = view(attention, kDocument, kDocument);
    const bool placed = attention.positions.kind == PositionScheme::Kind::none ||
                        attention.positions.kind == PositionScheme::Kind::rotary;
    return placed && (seen.kind == View::Kind::all || is_window(seen)) &&
           attention.views == late_interaction_views(seen);
  });
}

/// Collects the features that a description needs.
class FeatureFinder {
 public:
  explicit FeatureFinder(const EncoderDescription& description) : d_(description) {
    needs(d_.embedding_size != d_.hidden_size, Feature::embedding_projection);
    needs(d_.max_positions == 0, Feature::no_position_table);
    needs(d_.token_types == 0, Feature::no_token_types);
    needs(!d_.embedding_norm, Feature::no_embedding_norm);
    switch (d_.norm_kind) {
      case NormKind::layer: break;
      case NormKind::rms: needs(true, Feature::rms_norm); break;
    }
    if (has_interaction(d_)) {
      needs(true, Feature::interaction);
      for (const Layer& layer : d_.stacks.front().layers) of_layer(layer, d_.stacks.front());
      return;
    }
    const bool causal = is_causal(d_), texts = is_texts(d_);
    if (causal || texts || is_set(d_)) {
      needs(true, causal ? Feature::causal : texts ? Feature::token_vectors : Feature::set);
      of_norms(d_.stacks.front());
      for (const Layer& layer : d_.stacks.front().layers) of_layer(layer, d_.stacks.front());
      needs(d_.head.classifies, Feature::labels);
      if (!texts) of_outputs();
      return;
    }
    of_groups();
    const bool decoder = is_decoder();
    needs(decoder, Feature::decoder);
    needs(decoder && d_.head.classifies, Feature::labels);
    of_exchanges();
    of_pivots();
    needs(!decoder && d_.stacks.size() > 1, Feature::several_stacks);
    for (const Stack& stack : d_.stacks) {
      if (stack.convolution) {
        needs(true, Feature::convolution);
        needs(d_.stacks.size() > 1, Feature::several_stacks);
        needs(d_.head.pivots || stack.groups.size() > kGlobal, Feature::other_groups);
        needs(stack.layers.front().feed_forward.norm != NormPlacement::after, Feature::mixed_norms);
      }
      of_norms(stack);
      if (decoder && &stack != &d_.stacks.front()) continue;
      for (const Layer& layer : stack.layers) of_layer(layer, stack);
    }
    of_head();
  }

  std::vector<Feature> found;

 private:
  void needs(bool it, Feature feature) {
    if (it && std::find(found.begin(), found.end(), feature) == found.end()) found.push_back(feature);
  }

  void of_groups() {
    using Groups = std::vector<std::int32_t>;
    // Groups of pivots come last.
    std::span<const TokenGroup> groups = d_.groups;
    while (!groups.empty() && groups.back().pivots_of) groups = groups.first(groups.size() - 1);
    for (const TokenGroup& group : groups) needs(group.derived.has_value(), Feature::derived_groups);
    const auto of_candidate = [&](std::size_t group) { return !within(groups[group].input, Dependence::query); };
    const bool global = groups.size() == kGlobal + 1;
    const bool pair = (groups.size() == kGlobal || (global && of_candidate(kGlobal))) &&
                      groups[kCls].input == Dependence::nothing && groups[kQuery].input == Dependence::query &&
                      of_candidate(kDocument);
    const Groups& first = d_.stacks.front().groups;
    const bool known = global ? first == Groups{kCls, kQuery, kDocument, kGlobal}
                              : first == Groups{kCls, kQuery, kDocument} ||
                                    (d_.stacks.size() > 1 && first == Groups{kQuery, kDocument});
    needs(!pair || !known, Feature::other_groups);
    if (!pair || !known || !global) return;
    needs(true, Feature::global_tokens);
    // Only the window between D's tokens may tell the fourth group from D.
    const Groups& pooled = d_.head.groups;
    needs(std::count(pooled.begin(), pooled.end(), kDocument) != std::count(pooled.begin(), pooled.end(), kGlobal),
          Feature::other_groups);
    constexpr View all{View::Kind::all};
    const auto differs = [](const View& a, const View& b) { return a != b || is_window(a); };
    for (const Layer& layer : d_.stacks.front().layers) {
      for (const Attention& attention : layer.attentions) {
        bool other = view(attention, kDocument, kGlobal) != all || view(attention, kGlobal, kDocument) != all ||
                     view(attention, kGlobal, kGlobal) != all;
        for (const std::int32_t group : {kCls, kQuery}) {
          other = other || differs(view(attention, group, kGlobal), view(attention, group, kDocument)) ||
                  differs(view(attention, kGlobal, group), view(attention, kDocument, group));
        }
        needs(other, Feature::other_groups);
      }
    }
  }

  /// Whether the stacks are T5's: in each layer of the second one C sees itself, and then Q, D or both as they leave
  /// the first stack, with heads of the first one's sizes.
  bool is_decoder() const {
    using Groups = std::vector<std::int32_t>;
    if (d_.stacks.size() != 2 || d_.stacks[0].groups != Groups{kQuery, kDocument} ||
        d_.stacks[1].groups != Groups{kCls} || d_.head.groups != Groups{kCls}) {
      return false;
    }
    const Attention& first = d_.stacks[0].layers.front().attentions.front();
    return std::all_of(d_.stacks[1].layers.begin(), d_.stacks[1].layers.end(), [&](const Layer& layer) {
      const std::vector<Attention>& attentions = layer.attentions;
      if (attentions.size() != 2) return false;
      for (const Attention& attention : attentions) {
        if (attention.heads != first.heads || attention.head_size != first.head_size || attention.keys_of_layer ||
            attention.positions.kind != PositionScheme::Kind::none || attention.norm != NormPlacement::before) {
          return false;
        }
      }
      const auto sees = [&](std::size_t which, std::int32_t group) {
        return view(attentions[which], kCls, group).kind;
      };
      const auto all_or_none = [](View::Kind kind) { return kind == View::Kind::all || kind == View::Kind::none; };
      return sees(0, kCls) == View::Kind::all && sees(0, kQuery) == View::Kind::none &&
             sees(0, kDocument) == View::Kind::none && sees(1, kCls) == View::Kind::none &&
             all_or_none(sees(1, kQuery)) && all_or_none(sees(1, kDocument)) &&
             (sees(1, kQuery) == View::Kind::all || sees(1, kDocument) == View::Kind::all) &&
             attentions[1].scale == first.scale;
    });
  }

  /// Exchanges are of one form: pivots see those of their own group that they are linked with, layers have the sizes of
  /// the others, all but the last one combine, and the head reads pivots alone.
  void of_exchanges() {
    for (const Stack& stack : d_.stacks) {
      if (stack.exchanges.empty()) continue;
      needs(true, Feature::exchanges);
      const auto texts = std::count_if(d_.groups.begin(), d_.groups.end(),
                                       [](const TokenGroup& group) { return !group.pivots_of.has_value(); });
      const std::size_t pivots = d_.groups.size() - static_cast<std::size_t>(texts);
      needs(texts != kGlobal || stack.exchanges.front().groups.size() != pivots, Feature::other_groups);
      Stack layers{.groups = stack.groups, .layers = {stack.layers.front()}};
      for (const Exchange& exchange : stack.exchanges) {
        const Attention& attention = exchange.layer.attentions.front();
        for (const std::int32_t from : exchange.groups) {
          for (const std::int32_t to : exchange.groups) {
            const View::Kind wanted = from == to ? View::Kind::linked : View::Kind::none;
            needs(view(attention, from, to).kind != wanted, Feature::other_groups);
          }
        }
        layers.groups = exchange.groups;
        layers.layers.push_back(exchange.layer);
        needs(exchange.groups != stack.exchanges.front().groups, Feature::other_groups);
        needs(attention.positions.kind != PositionScheme::Kind::none, Feature::other_groups);
        needs(attention.norm != NormPlacement::after || exchange.layer.feed_forward.norm != NormPlacement::after,
              Feature::other_groups);
      }
      for (const Layer& layer : std::span(layers.layers).subspan(1)) of_layer(layer, layers);
      needs(d_.stacks.size() > 1, Feature::several_stacks);
    }
  }

  /// A head that pools pivots has one dense layer or none; layers that pool have the sizes of the others.
  void of_pivots() {
    const Head& head = d_.head;
    if (!head.pivots) return;
    const bool alone = d_.stacks.front().exchanges.empty();
    needs(alone, Feature::pivots_alone);
    needs(alone && d_.groups.size() != kGlobal + head.groups.size(), Feature::other_groups);
    needs(d_.stacks.size() > 1, Feature::several_stacks);
    needs(head.pivots->kind != PivotPooling::Kind::attention, Feature::pivot_pooling);
    Stack layers{.groups = {}, .layers = {d_.stacks.front().layers.front()}};
    const Layer& first = layers.layers.front();
    needs(first.attentions.front().norm != NormPlacement::after || first.feed_forward.norm != NormPlacement::after,
          Feature::other_groups);
    for (const Layer& layer : head.pivots->layers) {
      needs(layer.attentions.front().positions.kind != PositionScheme::Kind::none ||
                layer.attentions.front().norm != NormPlacement::after ||
                layer.feed_forward.norm != NormPlacement::after,
            Feature::other_groups);
      of_layer(layer, layers);
    }
    const std::vector<HeadStep> dense = {{.size = d_.hidden_size}};
    needs(head.scale != 1 || (!head.steps.empty() && head.steps != dense) || head.outputs != 1 ||
              head.pooling != Pooling::mean,
          Feature::other_groups);
  }

  void of_norms(const Stack& stack) {
    std::size_t before = 0, after = 0, blocks = 0;
    const auto count = [&](NormPlacement placement) {
      switch (placement) {
        case NormPlacement::before: ++before; break;
        case NormPlacement::after: ++after; break;
        case NormPlacement::none: before += blocks == 0 ? 1 : 0; break;
      }
      ++blocks;
    };
    for (const Layer& layer : stack.layers) {
      for (const Attention& attention : layer.attentions) count(attention.norm);
      count(layer.feed_forward.norm);
    }
    for (const Exchange& exchange : stack.exchanges) {
      count(exchange.layer.attentions.front().norm);
      count(exchange.layer.feed_forward.norm);
    }
    if (after == blocks && !stack.final_norm) return;
    needs(true, before == blocks && stack.final_norm ? Feature::norm_before : Feature::mixed_norms);
  }

  void of_layer(const Layer& layer, const Stack& stack) {
    const Layer& first = stack.layers.front();
    needs(layer.attentions.size() != 1, Feature::several_attentions);
    for (const Attention& attention : layer.attentions) {
      of_attention(attention, stack.groups);
      needs(attention.scale != first.attentions.front().scale, Feature::different_layers);
    }
    const auto sizes = [](const Layer& of) {
      std::vector<std::int32_t> all{of.feed_forward.size};
      for (const Attention& attention : of.attentions) {
        all.insert(all.end(), {attention.heads, attention.head_size, attention.sharing()});
      }
      return all;
    };
    needs(sizes(layer) != sizes(first), Feature::different_layers);
    needs(layer.feed_forward.gated, Feature::gated_feed_forward);
    switch (layer.feed_forward.activation) {
      case Activation::gelu_erf: break;
      case Activation::none: needs(true, Feature::no_activation); break;
      case Activation::relu: needs(true, Feature::relu); break;
      case Activation::silu: needs(true, Feature::silu); break;
      case Activation::gelu_tanh: needs(true, Feature::gelu_tanh); break;
      case Activation::gelu_10: needs(true, Feature::gelu_10); break;
      case Activation::quick_gelu: needs(true, Feature::quick_gelu); break;
      case Activation::mish: needs(true, Feature::mish); break;
      case Activation::tanh: needs(true, Feature::tanh); break;
    }
  }

  void of_attention(const Attention& attention, const std::vector<std::int32_t>& groups) {
    needs(attention.heads * attention.head_size != d_.hidden_size, Feature::attention_width);
    const PositionScheme& positions = attention.positions;
    const int terms = 1 + (positions.content_to_position ? 1 : 0) + (positions.position_to_content ? 1 : 0);
    needs(attention.scale != 1 / std::sqrt(static_cast<double>(attention.head_size) * terms), Feature::attention_scale);
    needs(attention.keys_of_layer.has_value(), Feature::keys_of_other_stacks);
    needs(attention.gated.has_value(), Feature::gated_tokens);
    const bool causal = is_causal(d_);
    needs(!causal && attention.sharing() != 1, Feature::shared_keys);
    needs(!causal && attention.norms_heads, Feature::head_norms);
    switch (positions.kind) {
      case PositionScheme::Kind::none: break;
      case PositionScheme::Kind::rotary: needs(true, Feature::rotary_positions); break;
      case PositionScheme::Kind::relative_buckets: needs(true, Feature::relative_positions); break;
      case PositionScheme::Kind::disentangled:
        needs(true, Feature::disentangled_attention);
        needs(groups.size() > kGlobal || d_.head.pivots, Feature::other_groups);
        needs(d_.stacks.size() > 1, Feature::several_stacks);
        break;
    }
    for (const std::int32_t from : groups) {
      for (std::int32_t to = 0; to < static_cast<std::int32_t>(d_.groups.size()); ++to) {
        switch (view(attention, from, to).kind) {
          case View::Kind::none: needs(from == to && !is_texts(d_), Feature::blind_group); break;
          case View::Kind::all: break;
          case View::Kind::window:
            needs((from != kDocument || to != kDocument) && !is_texts(d_), Feature::window_beyond_document);
            break;
          case View::Kind::before: needs(!causal, Feature::view_before); break;
          case View::Kind::across: needs(!is_set(d_), Feature::view_across); break;
          case View::Kind::linked:
            needs(from != to || !d_.groups[static_cast<std::size_t>(to)].pivots_of, Feature::other_groups);
            break;
        }
      }
    }
  }

  void of_head() {
    const Head& head = d_.head;
    if (head.pivots) return;  // of_pivots()
    needs(head.groups != std::vector<std::int32_t>{kCls}, Feature::head_of_other_groups);
    switch (head.pooling) {
      case Pooling::mean: break;
      case Pooling::first:
      case Pooling::last:
      case Pooling::all_but_last: needs(true, Feature::head_pooling); break;
    }
    needs(head.dot_with.has_value(), Feature::dot_head);
    needs(head.per_token, Feature::other_groups);
    of_outputs();
  }

  void of_outputs() {
    const Head& head = d_.head;
    needs(head.scale != 1, Feature::head_scale);
    const std::vector<HeadStep> usual = {{.size = d_.hidden_size, .activation = Activation::tanh}};
    needs(head.steps != usual, Feature::head_steps);
    needs(head.outputs != 1, Feature::several_outputs);
  }

  const EncoderDescription& d_;
};

bool sees(const Views& views, std::int32_t from, std::int32_t to) {
  const std::vector<View>& of_group = views[static_cast<std::size_t>(from)];
  return !of_group.empty() && of_group[static_cast<std::size_t>(to)].kind != View::Kind::none;
}

bool windows_beyond_document(const Views& views) {
  for (std::size_t from = 0; from < views.size(); ++from) {
    for (std::size_t to = 0; to < views[from].size(); ++to) {
      if (is_window(views[from][to]) && (from != kDocument || to != kDocument)) return true;
    }
  }
  return false;
}

// Adds a document and, at their positions, its global tokens.
void merge(const Segment& text, const Segment& globals, PairBatch& to) {
  std::vector<std::int32_t> ids, positions;
  for (std::size_t t = 0, g = 0; t < text.tokens() || g < globals.tokens();) {
    const bool global = t == text.tokens() || (g < globals.tokens() && globals.positions[g] < text.positions[t]);
    const Segment& from = global ? globals : text;
    std::size_t& next = global ? g : t;
    if (global) to.globals.back().push_back(ids.size());
    ids.push_back(from.ids[next]);
    positions.push_back(from.positions[next++]);
  }
  to.merged.push_back(std::move(ids));
  to.merged.push_back(std::move(positions));
  to.documents.push_back({kDocument, *(to.merged.end() - 2), to.merged.back(), text.type});
}

}  // namespace

bool has_interaction(const EncoderDescription& d) {
  using Groups = std::vector<std::int32_t>;
  if (d.stacks.size() != 2 || d.groups.size() != kContext + 1 || d.stacks[0].final_norm || d.stacks[1].final_norm ||
      d.stacks[0].groups != Groups{kQuery, kDocument} || d.stacks[1].groups != Groups{kContext, kCls} ||
      d.norm_kind != NormKind::layer) {
    return false;
  }
  const std::optional<Derivation>& context = d.groups[kContext].derived;
  if (!context || context->tokens > kMostContext || d.groups[kCls].input != Dependence::nothing ||
      d.groups[kQuery].input != Dependence::query || d.groups[kDocument].input != Dependence::candidate) {
    return false;
  }
  const Layer& first = d.stacks[0].layers.front();
  if (first.attentions.size() != 1) return false;
  const Attention& like = first.attentions.front();
  const Attention of_text{
      .heads = like.heads, .head_size = like.head_size, .scale = like.scale, .views = interaction_text_views()};
  const FeedForward feed_forward{.size = first.feed_forward.size, .activation = first.feed_forward.activation};
  const auto is = [&](const Layer& layer, const Attention& attention) {
    return layer.attentions == std::vector<Attention>{attention} && layer.feed_forward == feed_forward;
  };
  for (const Layer& layer : d.stacks[0].layers) {
    if (!is(layer, of_text)) return false;
  }
  for (const Layer& layer : d.stacks[1].layers) {
    if (layer.attentions.size() != 1) return false;
    const Attention& attention = layer.attentions.front();
    if (!attention.gated || !attention.keys_of_layer) return false;
    Attention wanted = of_text;
    wanted.views = interaction_views();
    wanted.keys_of_layer = attention.keys_of_layer;
    wanted.gated = GatedToken{kCls, kContext, attention.gated->hint};
    if (!is(layer, wanted)) return false;
  }
  const Head& head = d.head;
  if (head.groups != Groups{kContext} || head.scale != 1 || !head.dot_with) return false;
  const std::int32_t last = *d.stacks[1].layers.back().attentions.front().keys_of_layer;
  const bool meets = head.dot_layer ? head.dot_with == kQuery && head.dot_layer == last : head.dot_with == kCls;
  const std::vector<HeadStep> compared = {{.size = 3 * d.hidden_size, .activation = Activation::relu}};
  return meets && (head.compares ? head.steps == compared : head.steps.empty());
}

EncoderKind kind_of(const EncoderDescription& description) {
  if (has_interaction(description)) return EncoderKind::interaction;
  if (is_causal(description)) return EncoderKind::causal;
  if (is_set(description)) return EncoderKind::set;
  if (is_texts(description)) return EncoderKind::texts;
  if (description.head.pivots) return EncoderKind::exchange;
  return description.stacks.size() > 1 ? EncoderKind::decoder : EncoderKind::pair;
}

void refuse_texts(FastPath path, EncoderKind kind) {
  refuse(name_of(path), fmt::format("encodes no texts by themselves with {}", name_of(kind)));
}

void refuse_scores(FastPath path, EncoderKind kind) {
  refuse(name_of(path), fmt::format("gives no scores with {}", name_of(kind)));
}

void refuse_hidden_states(FastPath path, EncoderKind kind) {
  refuse(name_of(path), fmt::format("does not show the hidden states of {}", name_of(kind)));
}

InteractionBatch interaction_batch(const ScoringBatch& batch) {
  InteractionBatch mix;
  if (batch.shared.size() != 1 || batch.shared.front().group != kQuery || !batch.shared.front().states.empty()) {
    refuse("batch", "must share one segment of token ids, the query");
  }
  mix.query = batch.shared.front();
  for (const std::span<const Segment> candidate : batch.candidates) {
    const bool one = candidate.size() == 1;
    const Segment segment = one ? candidate.front() : Segment();
    if (!one || (segment.group == kDocument ? !segment.states.empty() : segment.group != kContext)) {
      refuse(fmt::format("candidate {}", mix.states.size()), "must be one text or the states of one context");
    }
    mix.states.push_back(segment.states.empty() ? nullptr : segment.states.data());
    if (segment.states.empty()) mix.texts.push_back(segment);
  }
  return mix;
}

std::vector<const float*> InteractionBatch::contexts(const float* encoded, std::size_t size) const {
  std::vector<const float*> all = states;
  for (const float*& context : all) {
    if (context == nullptr) context = std::exchange(encoded, encoded + size);
  }
  return all;
}

std::vector<Feature> features_of(const EncoderDescription& description) { return FeatureFinder(description).found; }

void require_features(const EncoderDescription& description, FastPath path) {
  for (const Feature feature : features_of(description)) {
    const FeatureFacts facts = facts_of(feature);
    if (facts.computed == Computed::both || (facts.computed == Computed::cpu_only && path == FastPath::cpu)) continue;
    throw Error(ErrorKind::unsupported, name_of(path), fmt::format("does not support {}", facts.name),
                path == FastPath::cpu ? kUseRef : "use device = \"auto\" or \"cpu\"");
  }
}

PairForm::PairForm(const EncoderDescription& description)
    : heads(static_cast<std::size_t>(description.stacks.front().layers.front().attentions.front().heads)),
      head_size(static_cast<std::size_t>(description.stacks.front().layers.front().attentions.front().head_size)),
      intermediate_size(static_cast<std::size_t>(description.stacks.front().layers.front().feed_forward.size)),
      sharing(static_cast<std::size_t>(description.stacks.front().layers.front().attentions.front().sharing())),
      shares_query(!description.stacks.front().convolution) {
  const Plan plan = make_plan(description);
  const std::vector<Layer>& layers = description.stacks.front().layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Views& views = layers[i].attentions.front().views;
    // Not computed_once(): that holds even if Q sees a [CLS] that has seen nothing yet, which these paths do not share.
    const bool needed = plan.stacks.front()[i][kQuery].need == Need::states;
    shares_query = shares_query && !(needed && (sees(views, kQuery, kCls) || sees(views, kQuery, kDocument))) &&
                   !windows_beyond_document(views);
  }
  const Attention& last = layers.back().attentions.front();
  const std::vector<View>& of_cls = last.views[kCls];
  last_sees_query = sees(last.views, kCls, kQuery);
  last_sees_document = sees(last.views, kCls, kDocument);
  last_is_short = description.head.groups == std::vector<std::int32_t>{kCls} && last.norm == NormPlacement::after &&
                  !description.stacks.front().convolution && last.positions.kind == PositionScheme::Kind::none &&
                  last.heads * last.head_size == description.hidden_size &&
                  std::none_of(of_cls.begin(), of_cls.end(),
                               [](const View& view) { return is_window(view) || view.kind == View::Kind::across; });
}

PairBatch pair_batch(const EncoderDescription& description, const ScoringBatch& batch) {
  PairBatch pair;
  pair.joined = batch.documents;
  const auto require = [&](const Segment& segment, const std::string& name) {
    if (!segment.states.empty()) refuse(name, "is given by states, but this backend needs token ids");
  };
  Segment interaction;
  for (const Segment& segment : batch.shared) {
    if (segment.group == kInteraction) {
      interaction = segment;
      continue;
    }
    Segment& to = segment.group == kCls ? pair.cls : pair.query;
    require(segment, segment.group == kCls ? "[CLS]" : "query");
    if (to.tokens() > 0) refuse("batch", "has several segments of one group, but this backend takes one of each");
    to = segment;
  }
  const bool causal = is_causal(description);
  if (pair.cls.tokens() != (causal ? 0U : 1U)) refuse("[CLS]", causal ? "is a token" : "is not one token");
  const bool interacts = is_set(description) && description.groups.size() > kInteraction;
  if (interaction.tokens() != (interacts ? 1U : 0U)) refuse("interaction", "is not one token");
  if (interacts) {
    // A second token of the same type behind [CLS].
    pair.merged.push_back({pair.cls.ids.front(), interaction.ids.front()});
    pair.merged.push_back({pair.cls.positions.front(), interaction.positions.front()});
    pair.cls = {kCls, pair.merged[0], pair.merged[1], pair.cls.type};
  }
  // Passages have [PSG] in front of them even without a query.
  if (pair.query.tokens() == 0 && batch.documents.empty()) refuse("query", "is missing");
  bool windowed = false, query_windowed = false;
  for (const Layer& layer : description.stacks.front().layers) {
    const Views& views = layer.attentions.front().views;
    query_windowed = query_windowed || windows_beyond_document(views);
    const PositionScheme::Kind positions = layer.attentions.front().positions.kind;
    query_windowed = query_windowed || positions == PositionScheme::Kind::relative_buckets ||
                     positions == PositionScheme::Kind::disentangled;
    windowed = windowed || query_windowed || is_window(views[kDocument][kDocument]);
  }
  const auto require_run = [&](const Segment& segment, const std::string& name) {
    const auto jump = std::adjacent_find(segment.positions.begin(), segment.positions.end(),
                                         [](std::int32_t a, std::int32_t b) { return b != a + 1; });
    if (jump == segment.positions.end()) return;
    refuse(name, "has positions that are not consecutive, but this backend's windows and relative positions need that");
  };
  // A convolution takes the neighbours among the rows of a candidate, which must be those by position.
  const bool convolves = description.stacks.front().convolution.has_value();
  const auto follows = [](const Segment& before, const Segment& after) {
    return before.tokens() == 0 || after.tokens() == 0 || after.positions.front() == before.positions.back() + 1;
  };
  if (query_windowed || convolves) require_run(pair.query, "query");
  if (convolves && !follows(pair.cls, pair.query)) {
    refuse("query", "has positions that do not follow those of [CLS], but this backend's convolutions need that");
  }
  for (std::size_t i = 0; i < batch.candidates.size(); ++i) {
    const std::string name = fmt::format("document {}", i);
    const std::span<const Segment> segments = batch.candidates[i];
    for (const Segment& segment : segments) require(segment, name);
    const auto of = [&](std::int32_t group) {
      return std::find_if(segments.begin(), segments.end(), [&](const Segment& one) { return one.group == group; });
    };
    const auto text = of(kDocument), globals = of(kGlobal);
    if (text == segments.end() || segments.size() != (globals == segments.end() ? 1U : 2U)) {
      refuse(name, fmt::format("has {} segments, but this backend takes one of each group", segments.size()));
    }
    pair.globals.emplace_back();
    if (globals == segments.end()) {
      pair.documents.push_back(*text);
    } else {
      if (globals->type != text->type) refuse(name, "has segments of several token types, but this backend takes one");
      merge(*text, *globals, pair);
    }
    const Segment& document = pair.documents.back();
    if (const std::size_t tokens = pair.cls.tokens() + pair.query.tokens() + document.tokens();
        description.max_positions > 0 && tokens > static_cast<std::size_t>(description.max_positions)) {
      throw Error(ErrorKind::usage, name,
                  fmt::format("needs an input of {} tokens, but the position table has {} rows", tokens,
                              description.max_positions),
                  "truncate the document");
    }
    if (windowed || convolves) require_run(document, name);
    if (convolves && !follows(pair.query, document)) {
      refuse(name, "has positions that do not follow those of the query, but this backend's convolutions need that");
    }
  }
  return pair;
}

}  // namespace relucent
