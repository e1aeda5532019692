#include "kernels/features.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "relucent/error.h"

namespace relucent {
namespace {

constexpr const char* kUseRef = "use device = \"ref\"";

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

[[noreturn]] void refuse(FastPath path, const std::string& problem) {
  throw Error(ErrorKind::unsupported, name_of(path), problem, kUseRef);
}

/// Which fast paths compute a feature. `ref` computes all.
enum class Computed { neither, cpu_only, both };

/// What a description may ask for beyond BERT's form: one stack of post-LN layers of one shape over the groups C, Q and
/// D, with tables for positions and token types, GELU, and tanh between a dense layer and one output.
struct Feature {
  const char* name;  ///< in messages
  Computed computed;
};

namespace feature {

using enum Computed;

constexpr Feature kEmbeddingProjection{"an embedding size other than the hidden size", both};
constexpr Feature kNoPositionTable{"an encoder without position embeddings", both};
constexpr Feature kNoTokenTypes{"an encoder without token type embeddings", both};
constexpr Feature kNoEmbeddingNorm{"embeddings without a norm", both};
constexpr Feature kGlobalTokens{"tokens of the document that see all of it (starts of sentences)", both};
constexpr Feature kOtherGroups{"groups of tokens other than [CLS], query and document", neither};
constexpr Feature kInteraction{"candidates encoded apart from the query", both};
constexpr Feature kDerivedGroups{"states derived from those of other tokens", neither};
constexpr Feature kGatedTokens{"gated tokens", neither};
constexpr Feature kExchanges{"exchanges between the passages of a document", both};
constexpr Feature kPivotsAlone{"passages that meet only when they are pooled", cpu_only};
constexpr Feature kPivotPooling{"passages pooled by a maximum or a Transformer", cpu_only};
constexpr Feature kDecoder{"a decoder", both};
constexpr Feature kCausal{"a causal decoder", cpu_only};
constexpr Feature kSet{"candidates that see each other", both};
constexpr Feature kTokenVectors{"late interaction", both};
constexpr Feature kSeveralStacks{"several stacks of layers", neither};
constexpr Feature kSeveralAttentions{"several attentions in one layer (a decoder)", neither};
constexpr Feature kKeysOfOtherStacks{"keys and values of another stack's layer", neither};
constexpr Feature kDifferentLayers{"layers of different sizes", neither};
// All sub-blocks, but the first one may have none, and after the last one.
constexpr Feature kNormBefore{"norms before the sub-blocks (pre-norm)", both};
constexpr Feature kMixedNorms{"norms before some sub-blocks and not before others", neither};
constexpr Feature kRmsNorm{"RMSNorm", both};
constexpr Feature kRotaryPositions{"rotary positions (RoPE)", both};
constexpr Feature kRelativePositions{"relative positions", both};
constexpr Feature kDisentangledAttention{"disentangled attention (DeBERTa)", both};
constexpr Feature kConvolution{"a convolution after the first layer", both};
constexpr Feature kAttentionScale{"an attention scale other than 1/sqrt(head size)", both};
constexpr Feature kAttentionWidth{"heads whose sizes do not add up to the hidden size", both};
constexpr Feature kWindowBeyondDocument{"an attention window outside the document", both};
constexpr Feature kBlindGroup{"a group of tokens that does not see itself", neither};
constexpr Feature kViewBefore{"causal attention outside a decoder", neither};
constexpr Feature kSharedKeys{"heads that share keys and values outside a decoder", neither};
constexpr Feature kHeadNorms{"norms of queries and keys outside a decoder", neither};
constexpr Feature kViewAcross{"attention across candidates", neither};
constexpr Feature kRelu{"ReLU", both};
constexpr Feature kSilu{"SiLU", both};
constexpr Feature kGeluTanh{"GELU with tanh", both};
constexpr Feature kGelu10{"GELU of at most 10", both};
constexpr Feature kQuickGelu{"quick GELU", both};
constexpr Feature kMish{"Mish", both};
constexpr Feature kNoActivation{"a feed-forward without activation", both};
constexpr Feature kTanh{"a feed-forward with tanh", both};
constexpr Feature kGatedFeedForward{"a gated feed-forward", both};
constexpr Feature kHeadOfOtherGroups{"a head on tokens other than [CLS]", both};
constexpr Feature kHeadPooling{"a head that pools otherwise than by the mean", neither};
constexpr Feature kHeadScale{"a scale in the head", both};
constexpr Feature kHeadSteps{"a head with other steps than a dense layer and tanh", both};
constexpr Feature kSeveralOutputs{"a head with several outputs", both};
constexpr Feature kLabels{"labels of other encoders than of pairs and interactions", neither};
constexpr Feature kDotHead{"a head that multiplies the states of two groups", neither};

}  // namespace feature

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
    needs(d_.embedding_size != d_.hidden_size, feature::kEmbeddingProjection);
    needs(d_.max_positions == 0, feature::kNoPositionTable);
    needs(d_.token_types == 0, feature::kNoTokenTypes);
    needs(!d_.embedding_norm, feature::kNoEmbeddingNorm);
    switch (d_.norm_kind) {
      case NormKind::layer: break;
      case NormKind::rms: needs(true, feature::kRmsNorm); break;
    }
    if (has_interaction(d_)) {
      needs(true, feature::kInteraction);
      for (const Layer& layer : d_.stacks.front().layers) of_layer(layer, d_.stacks.front());
      return;
    }
    const bool causal = is_causal(d_), texts = is_texts(d_);
    if (causal || texts || is_set(d_)) {
      needs(true, causal ? feature::kCausal : texts ? feature::kTokenVectors : feature::kSet);
      of_norms(d_.stacks.front());
      for (const Layer& layer : d_.stacks.front().layers) of_layer(layer, d_.stacks.front());
      needs(d_.head.classifies, feature::kLabels);
      if (!texts) of_outputs();
      return;
    }
    of_groups();
    const bool decoder = is_decoder();
    needs(decoder, feature::kDecoder);
    needs(decoder && d_.head.classifies, feature::kLabels);
    of_exchanges();
    of_pivots();
    needs(!decoder && d_.stacks.size() > 1, feature::kSeveralStacks);
    for (const Stack& stack : d_.stacks) {
      if (stack.convolution) {
        needs(true, feature::kConvolution);
        needs(d_.stacks.size() > 1, feature::kSeveralStacks);
        needs(d_.head.pivots || stack.groups.size() > kGlobal, feature::kOtherGroups);
        needs(stack.layers.front().feed_forward.norm != NormPlacement::after, feature::kMixedNorms);
      }
      of_norms(stack);
      if (decoder && &stack != &d_.stacks.front()) continue;
      for (const Layer& layer : stack.layers) of_layer(layer, stack);
    }
    of_head();
  }

  std::vector<const Feature*> found;

 private:
  void needs(bool it, const Feature& feature) {
    if (it && std::find(found.begin(), found.end(), &feature) == found.end()) found.push_back(&feature);
  }

  void of_groups() {
    using Groups = std::vector<std::int32_t>;
    // Groups of pivots come last.
    std::span<const TokenGroup> groups = d_.groups;
    while (!groups.empty() && groups.back().pivots_of) groups = groups.first(groups.size() - 1);
    for (const TokenGroup& group : groups) needs(group.derived.has_value(), feature::kDerivedGroups);
    const auto of_candidate = [&](std::size_t group) { return !within(groups[group].input, Dependence::query); };
    const bool global = groups.size() == kGlobal + 1;
    const bool pair = (groups.size() == kGlobal || (global && of_candidate(kGlobal))) &&
                      groups[kCls].input == Dependence::nothing && groups[kQuery].input == Dependence::query &&
                      of_candidate(kDocument);
    const Groups& first = d_.stacks.front().groups;
    const bool known = global ? first == Groups{kCls, kQuery, kDocument, kGlobal}
                              : first == Groups{kCls, kQuery, kDocument} ||
                                    (d_.stacks.size() > 1 && first == Groups{kQuery, kDocument});
    needs(!pair || !known, feature::kOtherGroups);
    if (!pair || !known || !global) return;
    needs(true, feature::kGlobalTokens);
    // Only the window between D's tokens may tell the fourth group from D.
    const Groups& pooled = d_.head.groups;
    needs(std::count(pooled.begin(), pooled.end(), kDocument) != std::count(pooled.begin(), pooled.end(), kGlobal),
          feature::kOtherGroups);
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
        needs(other, feature::kOtherGroups);
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
      needs(true, feature::kExchanges);
      const auto texts = std::count_if(d_.groups.begin(), d_.groups.end(),
                                       [](const TokenGroup& group) { return !group.pivots_of.has_value(); });
      const std::size_t pivots = d_.groups.size() - static_cast<std::size_t>(texts);
      needs(texts != kGlobal || stack.exchanges.front().groups.size() != pivots, feature::kOtherGroups);
      Stack layers{.groups = stack.groups, .layers = {stack.layers.front()}};
      for (const Exchange& exchange : stack.exchanges) {
        const Attention& attention = exchange.layer.attentions.front();
        for (const std::int32_t from : exchange.groups) {
          for (const std::int32_t to : exchange.groups) {
            const View::Kind wanted = from == to ? View::Kind::linked : View::Kind::none;
            needs(view(attention, from, to).kind != wanted, feature::kOtherGroups);
          }
        }
        layers.groups = exchange.groups;
        layers.layers.push_back(exchange.layer);
        needs(exchange.groups != stack.exchanges.front().groups, feature::kOtherGroups);
        needs(attention.positions.kind != PositionScheme::Kind::none, feature::kOtherGroups);
        needs(attention.norm != NormPlacement::after || exchange.layer.feed_forward.norm != NormPlacement::after,
              feature::kOtherGroups);
      }
      for (const Layer& layer : std::span(layers.layers).subspan(1)) of_layer(layer, layers);
      needs(d_.stacks.size() > 1, feature::kSeveralStacks);
    }
  }

  /// A head that pools pivots has one dense layer or none; layers that pool have the sizes of the others.
  void of_pivots() {
    const Head& head = d_.head;
    if (!head.pivots) return;
    const bool alone = d_.stacks.front().exchanges.empty();
    needs(alone, feature::kPivotsAlone);
    needs(alone && d_.groups.size() != kGlobal + head.groups.size(), feature::kOtherGroups);
    needs(d_.stacks.size() > 1, feature::kSeveralStacks);
    needs(head.pivots->kind != PivotPooling::Kind::attention, feature::kPivotPooling);
    Stack layers{.groups = {}, .layers = {d_.stacks.front().layers.front()}};
    const Layer& first = layers.layers.front();
    needs(first.attentions.front().norm != NormPlacement::after || first.feed_forward.norm != NormPlacement::after,
          feature::kOtherGroups);
    for (const Layer& layer : head.pivots->layers) {
      needs(layer.attentions.front().positions.kind != PositionScheme::Kind::none ||
                layer.attentions.front().norm != NormPlacement::after ||
                layer.feed_forward.norm != NormPlacement::after,
            feature::kOtherGroups);
      of_layer(layer, layers);
    }
    const std::vector<HeadStep> dense = {{.size = d_.hidden_size}};
    needs(head.scale != 1 || (!head.steps.empty() && head.steps != dense) || head.outputs != 1 ||
              head.pooling != Pooling::mean,
          feature::kOtherGroups);
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
    needs(true, before == blocks && stack.final_norm ? feature::kNormBefore : feature::kMixedNorms);
  }

  void of_layer(const Layer& layer, const Stack& stack) {
    const Layer& first = stack.layers.front();
    needs(layer.attentions.size() != 1, feature::kSeveralAttentions);
    for (const Attention& attention : layer.attentions) {
      of_attention(attention, stack.groups);
      needs(attention.scale != first.attentions.front().scale, feature::kDifferentLayers);
    }
    const auto sizes = [](const Layer& of) {
      std::vector<std::int32_t> all{of.feed_forward.size};
      for (const Attention& attention : of.attentions) {
        all.insert(all.end(), {attention.heads, attention.head_size, attention.sharing()});
      }
      return all;
    };
    needs(sizes(layer) != sizes(first), feature::kDifferentLayers);
    needs(layer.feed_forward.gated, feature::kGatedFeedForward);
    switch (layer.feed_forward.activation) {
      case Activation::gelu_erf: break;
      case Activation::none: needs(true, feature::kNoActivation); break;
      case Activation::relu: needs(true, feature::kRelu); break;
      case Activation::silu: needs(true, feature::kSilu); break;
      case Activation::gelu_tanh: needs(true, feature::kGeluTanh); break;
      case Activation::gelu_10: needs(true, feature::kGelu10); break;
      case Activation::quick_gelu: needs(true, feature::kQuickGelu); break;
      case Activation::mish: needs(true, feature::kMish); break;
      case Activation::tanh: needs(true, feature::kTanh); break;
    }
  }

  void of_attention(const Attention& attention, const std::vector<std::int32_t>& groups) {
    needs(attention.heads * attention.head_size != d_.hidden_size, feature::kAttentionWidth);
    const PositionScheme& positions = attention.positions;
    const int terms = 1 + (positions.content_to_position ? 1 : 0) + (positions.position_to_content ? 1 : 0);
    needs(attention.scale != 1 / std::sqrt(static_cast<double>(attention.head_size) * terms), feature::kAttentionScale);
    needs(attention.keys_of_layer.has_value(), feature::kKeysOfOtherStacks);
    needs(attention.gated.has_value(), feature::kGatedTokens);
    const bool causal = is_causal(d_);
    needs(!causal && attention.sharing() != 1, feature::kSharedKeys);
    needs(!causal && attention.norms_heads, feature::kHeadNorms);
    switch (positions.kind) {
      case PositionScheme::Kind::none: break;
      case PositionScheme::Kind::rotary: needs(true, feature::kRotaryPositions); break;
      case PositionScheme::Kind::relative_buckets: needs(true, feature::kRelativePositions); break;
      case PositionScheme::Kind::disentangled:
        needs(true, feature::kDisentangledAttention);
        needs(groups.size() > kGlobal || d_.head.pivots, feature::kOtherGroups);
        needs(d_.stacks.size() > 1, feature::kSeveralStacks);
        break;
    }
    for (const std::int32_t from : groups) {
      for (std::int32_t to = 0; to < static_cast<std::int32_t>(d_.groups.size()); ++to) {
        switch (view(attention, from, to).kind) {
          case View::Kind::none: needs(from == to && !is_texts(d_), feature::kBlindGroup); break;
          case View::Kind::all: break;
          case View::Kind::window:
            needs((from != kDocument || to != kDocument) && !is_texts(d_), feature::kWindowBeyondDocument);
            break;
          case View::Kind::before: needs(!causal, feature::kViewBefore); break;
          case View::Kind::across: needs(!is_set(d_), feature::kViewAcross); break;
          case View::Kind::linked:
            needs(from != to || !d_.groups[static_cast<std::size_t>(to)].pivots_of, feature::kOtherGroups);
            break;
        }
      }
    }
  }

  void of_head() {
    const Head& head = d_.head;
    if (head.pivots) return;  // of_pivots()
    needs(head.groups != std::vector<std::int32_t>{kCls}, feature::kHeadOfOtherGroups);
    switch (head.pooling) {
      case Pooling::mean: break;
      case Pooling::first:
      case Pooling::last:
      case Pooling::all_but_last: needs(true, feature::kHeadPooling); break;
    }
    needs(head.dot_with.has_value(), feature::kDotHead);
    needs(head.per_token, feature::kOtherGroups);
    of_outputs();
  }

  void of_outputs() {
    const Head& head = d_.head;
    needs(head.scale != 1, feature::kHeadScale);
    const std::vector<HeadStep> usual = {{.size = d_.hidden_size, .activation = Activation::tanh}};
    needs(head.steps != usual, feature::kHeadSteps);
    needs(head.outputs != 1, feature::kSeveralOutputs);
  }

  const EncoderDescription& d_;
};

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
  refuse(path, fmt::format("encodes no texts by themselves with {}", name_of(kind)));
}

void refuse_scores(FastPath path, EncoderKind kind) {
  refuse(path, fmt::format("gives no scores with {}", name_of(kind)));
}

void refuse_hidden_states(FastPath path, EncoderKind kind) {
  refuse(path, fmt::format("does not show the hidden states of {}", name_of(kind)));
}

void require_features(const EncoderDescription& description, FastPath path) {
  for (const Feature* const feature : FeatureFinder(description).found) {
    if (feature->computed == Computed::both || (feature->computed == Computed::cpu_only && path == FastPath::cpu)) {
      continue;
    }
    throw Error(ErrorKind::unsupported, name_of(path), fmt::format("does not support {}", feature->name),
                path == FastPath::cpu ? kUseRef : "use device = \"auto\" or \"cpu\"");
  }
}

}  // namespace relucent
