#include "kernels/checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "relucent/error.h"
#include "relucent/kernels/plan.h"

namespace relucent {
namespace {

[[noreturn]] void refuse_description(const std::string& problem) {
  throw Error(ErrorKind::invalid_data, "encoder description", problem);
}

void check_shape(const std::string& name, const TensorView& tensor, const std::vector<std::int64_t>& wanted) {
  if (tensor.shape != wanted || tensor.data == nullptr) {
    throw Error(ErrorKind::invalid_data, name,
                fmt::format("has shape [{}], not [{}]", join(tensor.shape), join(wanted)),
                "use weights and a description of the same model");
  }
}

void check_linear(const std::string& name, const LinearWeights& linear, std::int64_t out, std::int64_t in) {
  check_shape(name + ".weight", linear.weight, {out, in});
  if (linear.bias.data != nullptr || !linear.bias.shape.empty()) check_shape(name + ".bias", linear.bias, {out});
}

void check_norm(const std::string& name, const NormWeights& norm, std::int64_t size) {
  check_shape(name + ".gamma", norm.gamma, {size});
  if (norm.beta.data != nullptr || !norm.beta.shape.empty()) check_shape(name + ".beta", norm.beta, {size});
}

void check_attention(const std::string& name, const Attention& attention, const AttentionWeights& weights,
                     std::int32_t hidden) {
  const std::int64_t width = std::int64_t{attention.heads} * attention.head_size;
  if (attention.heads < 1 || attention.head_size < 1) refuse_description("heads and their size must be positive");
  if (attention.key_heads < 0 || (attention.key_heads > 0 && attention.heads % attention.key_heads != 0)) {
    refuse_description("the number of heads must be a multiple of that of keys and values");
  }
  if (!std::isfinite(attention.scale)) refuse_description("the attention's scale must be finite");
  const std::int64_t of_keys = width / attention.sharing();
  check_linear(name + "query", weights.query, width, hidden);
  check_linear(name + "key", weights.key, of_keys, hidden);
  check_linear(name + "value", weights.value, of_keys, hidden);
  if (attention.norms_heads) {
    check_shape(name + "query norm", weights.query_norm, {attention.head_size});
    check_shape(name + "key norm", weights.key_norm, {attention.head_size});
  }
  check_linear(name + "attention output", weights.output, hidden, width);
  if (attention.gated) {
    check_linear(name + "gated query", weights.gated_query, width, hidden);
    check_linear(name + "gate", weights.gate, hidden, 3 * std::int64_t{hidden});
  }
  if (attention.norm != NormPlacement::none) check_norm(name + "attention norm", weights.norm, hidden);
  switch (attention.positions.kind) {
    case PositionScheme::Kind::none: break;
    case PositionScheme::Kind::rotary:
      if (attention.head_size % 2 != 0 || !(attention.positions.theta > 0) ||
          !std::isfinite(attention.positions.rate)) {
        refuse_description("rotary positions need an even head size, a positive theta and a finite rate");
      }
      break;
    case PositionScheme::Kind::relative_buckets:
      // A quarter of the buckets are single distances, a quarter grow logarithmically, in each direction.
      if (attention.positions.buckets < 4 || attention.positions.buckets % 2 != 0 ||
          attention.positions.max_distance <= attention.positions.buckets / 4) {
        refuse_description("relative positions need an even number of buckets and a greater maximum distance");
      }
      check_shape(name + "relative bias", weights.relative_bias, {attention.positions.buckets, attention.heads});
      break;
    case PositionScheme::Kind::disentangled: {
      const PositionScheme& positions = attention.positions;
      if (positions.buckets < 4 || positions.buckets % 2 != 0 ||
          (positions.max_distance != 0 && positions.max_distance <= positions.buckets / 4 + 1)) {
        refuse_description("disentangled attention needs an even number of buckets and a greater maximum distance");
      }
      if (!positions.content_to_position && !positions.position_to_content) {
        refuse_description("disentangled attention needs products with queries, with keys, or with both");
      }
      if (positions.content_to_position) check_linear(name + "relative key", weights.relative_key, width, hidden);
      if (positions.position_to_content) check_linear(name + "relative query", weights.relative_query, width, hidden);
      break;
    }
  }
}

void check_feed_forward(const std::string& name, const FeedForward& feed_forward, const FeedForwardWeights& weights,
                        std::int32_t hidden) {
  if (feed_forward.size < 1) refuse_description("the size of the feed-forward must be positive");
  check_linear(name + "intermediate", weights.in, feed_forward.size, hidden);
  if (feed_forward.gated) check_linear(name + "gate", weights.gate, feed_forward.size, hidden);
  check_linear(name + "output", weights.out, hidden, feed_forward.size);
  if (feed_forward.norm != NormPlacement::none) check_norm(name + "output norm", weights.norm, hidden);
}

void check_layer(const std::string& name, const Layer& layer, const LayerWeights& weights, std::int32_t hidden) {
  if (weights.attentions.size() != layer.attentions.size()) {
    refuse_description("needs one set of weights per attention");
  }
  for (std::size_t a = 0; a < layer.attentions.size(); ++a) {
    check_attention(name, layer.attentions[a], weights.attentions[a], hidden);
  }
  check_feed_forward(name, layer.feed_forward, weights.feed_forward, hidden);
}

/// Checks one segment; `name` is for messages.
void check_segment(const EncoderDescription& d, const Segment& segment, const std::string& name) {
  const auto refuse = [&](const std::string& problem, const std::string& remedy) {
    throw Error(ErrorKind::usage, name, problem, remedy);
  };
  const std::size_t tokens = segment.tokens();
  if (tokens == 0) refuse("is empty", "give every segment at least one token");
  if (!segment.states.empty()
          ? !segment.ids.empty() || segment.states.size() != tokens * static_cast<std::size_t>(d.hidden_size)
          : segment.ids.size() != tokens) {
    refuse(fmt::format("has {} positions for {} ids and {} states", tokens, segment.ids.size(), segment.states.size()),
           "give one position per token");
  }
  for (std::size_t i = 0; i < segment.ids.size(); ++i) {
    if (segment.ids[i] >= 0 && segment.ids[i] < d.vocabulary_size) continue;
    refuse(fmt::format("token {} has the id {}, outside the vocabulary of {}", i, segment.ids[i], d.vocabulary_size),
           "tokenize with the model's own vocabulary");
  }
  const auto [lowest, highest] = std::minmax_element(segment.positions.begin(), segment.positions.end());
  if (*lowest < 0) refuse(fmt::format("has the position {}", *lowest), "count positions from 0");
  if (d.max_positions > 0 && *highest >= d.max_positions) {
    refuse(
        fmt::format("needs an input of {} tokens, but the position table has {} rows", *highest + 1, d.max_positions),
        "truncate the document");
  }
  if (d.token_types > 0 && (segment.type < 0 || segment.type >= d.token_types)) {
    refuse(fmt::format("has the token type {}, but the model has {}", segment.type, d.token_types),
           "use the token types of the model's family");
  }
}

/// Checks that a group which takes a segment's first tokens finds enough of them.
void check_derivable(const EncoderDescription& d, const Segment& segment, const std::string& name) {
  for (const TokenGroup& group : d.groups) {
    if (!group.derived || group.derived->group != segment.group) continue;
    const auto wanted = static_cast<std::size_t>(group.derived->tokens);
    if (group.derived->kind != Derivation::Kind::first_tokens || segment.tokens() >= wanted) continue;
    throw Error(ErrorKind::usage, name,
                fmt::format("has {} tokens, but {} states derive from it", segment.tokens(), wanted));
  }
}

/// The groups of pivots of a description.
std::vector<std::int32_t> pivot_groups(const EncoderDescription& d) {
  std::vector<std::int32_t> groups;
  for (std::size_t g = 0; g < d.groups.size(); ++g) {
    if (d.groups[g].pivots_of) groups.push_back(static_cast<std::int32_t>(g));
  }
  return groups;
}

/// Checks the pivots of a document whose candidates are `passages`.
void check_document(const EncoderDescription& d, const ScoringBatch& batch, const DocumentPassages& document,
                    std::span<const std::span<const Segment>> passages, const std::string& name) {
  const auto refuse = [&](const std::string& problem) { throw Error(ErrorKind::usage, name, problem); };
  const std::vector<std::int32_t> groups = pivot_groups(d);
  std::vector<std::int32_t> given;
  // [candidates][groups]: whether a token has a pivot already
  std::vector<std::vector<std::vector<bool>>> taken(passages.size(), std::vector<std::vector<bool>>(d.groups.size()));
  for (std::size_t i = 0; i < passages.size(); ++i) {
    for (const std::span<const Segment> segments : {batch.shared, passages[i]}) {
      for (const Segment& segment : segments) {
        std::vector<bool>& of = taken[i][static_cast<std::size_t>(segment.group)];
        of.resize(of.size() + segment.tokens());
      }
    }
  }
  for (const Pivots& pivots : document.pivots) {
    given.push_back(pivots.group);
    if (std::count(groups.begin(), groups.end(), pivots.group) == 0)
      refuse(fmt::format("has pivots of the unknown group {}", pivots.group));
    const auto source = static_cast<std::size_t>(*d.groups[static_cast<std::size_t>(pivots.group)].pivots_of);
    for (std::size_t i = 0; i < pivots.pivots.size(); ++i) {
      const Pivots::Pivot& pivot = pivots.pivots[i];
      const auto range_of = [](const auto& list, std::size_t first, std::size_t count) {
        return first <= list.size() && count <= list.size() - first ? list.subspan(first, count) : list.first(0);
      };
      const auto tokens = range_of(pivots.tokens, pivot.first_token, pivot.tokens);
      const auto seen = range_of(pivots.seen, pivot.first_seen, pivot.seen);
      const auto number = static_cast<std::int32_t>(i);
      if (pivot.candidate >= passages.size() || tokens.empty() ||
          !std::binary_search(seen.begin(), seen.end(), number) ||
          std::adjacent_find(seen.begin(), seen.end(), std::greater_equal<>()) != seen.end() || seen.front() < 0 ||
          static_cast<std::size_t>(seen.back()) >= pivots.pivots.size()) {
        refuse(fmt::format("pivot {} of group {} is not in the document or does not see itself", i, pivots.group));
      }
      for (const std::int32_t token : tokens) {
        std::vector<bool>& of = taken[pivot.candidate][source];
        const auto place = static_cast<std::size_t>(token);
        if (token < 0 || place >= of.size() || of[place]) {
          refuse(fmt::format("token {} of candidate {} does not exist or has two pivots", token, pivot.candidate));
        }
        of[place] = true;
      }
    }
  }
  if (d.head.pivots->positions > 0) {
    for (const Pivots& pivots : document.pivots) {
      const auto most = static_cast<std::size_t>(d.head.pivots->positions) - 1;
      if (pivots.pivots.size() > most) {
        refuse(fmt::format("has {} pivots of group {}, but its head has positions for {}", pivots.pivots.size(),
                           pivots.group, most));
      }
    }
  }
  std::sort(given.begin(), given.end());
  if (given != groups) refuse("does not have each group of pivots once");
}

/// Rows of the table of relative positions, which all layers share; 0: no attention is disentangled.
std::int32_t relative_buckets(const EncoderDescription& d) {
  std::int32_t buckets = 0, distance = 0;
  const auto is_disentangled = [](const Attention& attention) {
    return attention.positions.kind == PositionScheme::Kind::disentangled;
  };
  for (const Stack& stack : d.stacks) {
    for (const Layer& layer : stack.layers) {
      for (std::size_t i = 0; i < layer.attentions.size(); ++i) {
        if (!is_disentangled(layer.attentions[i])) continue;
        const std::int32_t of_layer = layer.attentions[i].positions.buckets;
        const std::int32_t farthest = layer.attentions[i].positions.max_distance;
        if (i > 0 || (buckets > 0 && (of_layer != buckets || farthest != distance))) {
          refuse_description("disentangled attention must come first in a layer, with the same buckets in all of them");
        }
        buckets = of_layer, distance = farthest;
      }
    }
    for (const Exchange& exchange : stack.exchanges) {
      if (std::ranges::any_of(exchange.layer.attentions, is_disentangled)) {
        refuse_description("pivots have no positions for disentangled attention");
      }
    }
  }
  return buckets;
}

/// The weights that pool a document's pivots.
void check_pivot_pooling(const EncoderDescription& d, const EncoderWeights& w) {
  const PivotPooling& form = *d.head.pivots;
  const bool dense = !d.head.steps.empty() && d.head.steps.front().size > 0;
  if (!dense && (!d.head.steps.empty() || d.head.groups.size() > 1)) {
    refuse_description("a head that pools pivots of several groups needs a dense layer");
  }
  if (w.head_pooling.size() != d.head.groups.size()) refuse_description("needs one set of weights per pooled group");
  for (std::size_t i = 0; i < w.head_pooling.size(); ++i) {
    const std::string name = fmt::format("pooling of {} ", d.groups[static_cast<std::size_t>(d.head.groups[i])].name);
    const PoolingWeights& weights = w.head_pooling[i];
    switch (form.kind) {
      case PivotPooling::Kind::attention:
        if (form.heads < 1 || d.hidden_size % form.heads != 0) {
          refuse_description("the head's pooling heads must share the hidden size");
        }
        check_shape(name + "vector", weights.vector, {d.hidden_size});
        check_linear(name + "query", weights.query, d.hidden_size, d.hidden_size);
        check_linear(name + "key", weights.key, d.hidden_size, d.hidden_size);
        check_linear(name + "value", weights.value, d.hidden_size, d.hidden_size);
        check_linear(name + "output", weights.output, d.hidden_size, d.hidden_size);
        break;
      case PivotPooling::Kind::maximum: break;
      case PivotPooling::Kind::layers:
        check_shape(name + "vector", weights.vector, {d.hidden_size});
        if (form.positions > 0) check_shape(name + "positions", weights.positions, {form.positions, d.hidden_size});
        if (form.layers.empty() || weights.layers.size() != form.layers.size()) {
          refuse_description("pooling by layers needs layers, and one set of weights for each");
        }
        for (std::size_t l = 0; l < form.layers.size(); ++l) {
          if (form.layers[l].attentions.size() != 1 ||
              form.layers[l].attentions.front().positions.kind != PositionScheme::Kind::none) {
            refuse_description("layers that pool need one attention each, without positions");
          }
          check_layer(fmt::format("{}layer {} ", name, l), form.layers[l], weights.layers[l], d.hidden_size);
        }
        break;
    }
  }
}

void check_head_steps(const EncoderDescription& d, const EncoderWeights& w, std::int64_t features) {
  if (w.head_steps.size() != d.head.steps.size()) refuse_description("needs one set of weights per step of the head");
  for (std::size_t i = 0; i < d.head.steps.size(); ++i) {
    const HeadStep& step = d.head.steps[i];
    const HeadStepWeights& weights = w.head_steps[i];
    const std::string name = d.head.steps.size() == 1 ? "pooler" : fmt::format("head step {} ", i);
    if (step.size < 0) refuse_description("a step of the head has a negative size");
    if (step.norm_epsilon < 0 || !std::isfinite(step.norm_epsilon)) {
      refuse_description("the head's norm needs a finite epsilon of at least 0");
    }
    const std::int64_t out = step.size > 0 ? step.size : features;
    if (step.size > 0) check_linear(name, weights.dense, out, features);
    switch (step.residual) {
      case HeadStep::Residual::none: break;
      case HeadStep::Residual::input:
        if (out != features) refuse_description("a step of the head adds its input to a result of another size");
        break;
      case HeadStep::Residual::projected: check_linear(name + "residual", weights.residual, out, features); break;
    }
    if (step.norm) check_norm("head norm", weights.norm, out);
    features = out;
  }
}

/// Texts each of whose tokens gets `size` numbers, or that get as many together.
void check_token_texts(const EncoderDescription& d, std::span<const Segment> texts, std::size_t size,
                       std::size_t states) {
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string name = fmt::format("text {}", i);
    if (texts[i].group != kDocument || !texts[i].states.empty()) {
      throw Error(ErrorKind::usage, name, "is not a text's token ids");
    }
    check_segment(d, texts[i], name);
    if (texts[i].expansion >= texts[i].tokens()) throw Error(ErrorKind::usage, name, "is all expansion");
    tokens += d.head.per_text ? 1 : texts[i].tokens();
  }
  if (states != tokens * size) {
    throw Error(ErrorKind::usage, "texts",
                fmt::format("have {} vectors of {} numbers, but there is room for {}", tokens, size, states));
  }
}

}  // namespace

void check_weights(const EncoderDescription& d, const EncoderWeights& w) {
  if (d.vocabulary_size < 1 || d.embedding_size < 1 || d.hidden_size < 1 || d.max_positions < 0 || d.token_types < 0) {
    refuse_description("sizes must be positive");
  }
  if (!(d.norm_epsilon > 0) || std::isinf(d.norm_epsilon)) {
    throw Error(ErrorKind::invalid_data, "norm epsilon",
                fmt::format("is {:g}, not a finite positive number", d.norm_epsilon));
  }
  check_shape("word embeddings", w.word_embeddings, {d.vocabulary_size, d.embedding_size});
  if (d.max_positions > 0) {
    check_shape("position embeddings", w.position_embeddings, {d.max_positions, d.embedding_size});
  }
  if (d.token_types > 0) {
    check_shape("token type embeddings", w.token_type_embeddings, {d.token_types, d.embedding_size});
  }
  if (d.embedding_norm) check_norm("embedding norm", w.embedding_norm, d.embedding_size);
  if (d.embedding_size != d.hidden_size) {
    check_linear("embedding projection", w.embedding_projection, d.hidden_size, d.embedding_size);
  }
  for (const TokenGroup& group : d.groups) {
    if (group.derived && group.derived->kind == Derivation::Kind::codes) {
      check_shape("codes", w.codes, {group.derived->tokens, d.hidden_size});
    }
  }
  if (w.relative_embeddings.data != nullptr) {
    check_shape("relative embeddings", w.relative_embeddings, {relative_buckets(d), d.hidden_size});
    if (w.relative_norm.gamma.data != nullptr) check_norm("relative norm", w.relative_norm, d.hidden_size);
  } else if (relative_buckets(d) > 0) {
    refuse_description("disentangled attention needs relative embeddings");
  }
  if (w.stacks.size() != d.stacks.size()) refuse_description("needs one set of weights per stack");
  for (std::size_t s = 0; s < d.stacks.size(); ++s) {
    const Stack& stack = d.stacks[s];
    if (w.stacks[s].layers.size() != stack.layers.size()) refuse_description("needs one set of weights per layer");
    const std::string of_stack = d.stacks.size() > 1 ? fmt::format("stack {} ", s) : "";
    for (std::size_t i = 0; i < stack.layers.size(); ++i) {
      check_layer(fmt::format("{}layer {} ", of_stack, i), stack.layers[i], w.stacks[s].layers[i], d.hidden_size);
    }
    if (stack.convolution) {
      if (stack.convolution->size < 1 || stack.convolution->size % 2 == 0) {
        refuse_description("a convolution needs an odd size");
      }
      check_shape(of_stack + "convolution.weight", w.stacks[s].convolution.weight,
                  {d.hidden_size, d.hidden_size, stack.convolution->size});
      check_shape(of_stack + "convolution.bias", w.stacks[s].convolution.bias, {d.hidden_size});
      check_norm(of_stack + "convolution norm", w.stacks[s].convolution_norm, d.hidden_size);
    }
    if (stack.final_norm) check_norm(of_stack + "final norm", w.stacks[s].final_norm, d.hidden_size);
    if (w.stacks[s].exchanges.size() != stack.exchanges.size())
      refuse_description("needs one set of weights per exchange");
    for (std::size_t i = 0; i < stack.exchanges.size(); ++i) {
      const std::string name = fmt::format("{}exchange {} ", of_stack, i);
      const Exchange& exchange = stack.exchanges[i];
      const ExchangeWeights& weights = w.stacks[s].exchanges[i];
      check_layer(name, exchange.layer, weights.layer, d.hidden_size);
      if (exchange.combines) check_linear(name + "combine", weights.combine, d.hidden_size, 2 * d.hidden_size);
    }
  }
  if (d.head.outputs < 1) refuse_description("the head needs at least one output");
  std::int64_t pooled = d.hidden_size;
  if (d.head.pivots) {
    check_pivot_pooling(d, w);
    pooled *= static_cast<std::int64_t>(d.head.groups.size());
  }
  if (d.head.compares) pooled *= 3;
  check_head_steps(d, w, pooled);
  if (d.head.per_token) {
    if (d.head.pivots || d.head.dot_with) refuse_description("vectors of tokens have no score");
    if (d.head.per_text && !d.head.steps.empty()) refuse_description("the vector of a text has no steps");
  } else if (!d.head.dot_with || d.head.compares) {
    check_linear("classifier", w.head_output, d.head.outputs, d.head_size());
  } else if (d.head_size() != d.hidden_size) {
    refuse_description("a head that multiplies the states of two groups needs steps of the hidden size");
  }
}

void check_texts(const EncoderDescription& description, std::span<const Segment> texts, std::size_t states) {
  if (description.head.per_token) {
    check_token_texts(description, texts, static_cast<std::size_t>(description.head_size()), states);
    return;
  }
  const auto derived = std::find_if(description.groups.begin(), description.groups.end(),
                                    [](const TokenGroup& group) { return group.derived.has_value(); });
  if (derived == description.groups.end()) {
    if (make_plan(description).layers_apart() > 0) {
      check_token_texts(description, texts, static_cast<std::size_t>(description.hidden_size), states);
      return;
    }
    throw Error(ErrorKind::unsupported, "encoder description", "has no states that could be computed before a query",
                "use a checkpoint that encodes candidates apart from the query");
  }
  const std::size_t each =
      static_cast<std::size_t>(derived->derived->tokens) * static_cast<std::size_t>(description.hidden_size);
  if (states != texts.size() * each) {
    throw Error(ErrorKind::usage, "texts",
                fmt::format("are {}, but there is room for {} states of {} numbers", texts.size(), states, each));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string name = fmt::format("text {}", i);
    if (texts[i].group != derived->derived->group) {
      throw Error(ErrorKind::usage, name, fmt::format("is of the wrong group {}", texts[i].group));
    }
    check_segment(description, texts[i], name);
    check_derivable(description, texts[i], name);
  }
}

void check_batch(const EncoderDescription& description, const ScoringBatch& batch, std::size_t logits) {
  if (description.head.per_token) {
    throw Error(ErrorKind::unsupported, "encoder description", "gives vectors of tokens, not scores",
                "encode the texts and compare their vectors");
  }
  const bool documents = description.head.pivots.has_value();
  const std::size_t count = documents ? batch.documents.size() : batch.candidates.size();
  if (const std::size_t each = description.head.logits(); logits != count * each) {
    throw Error(ErrorKind::usage, "batch",
                fmt::format("has {} {} of {} logits each, but room for {}", count,
                            documents ? "documents" : "candidates", each, logits));
  }
  const auto check = [&](const Segment& segment, bool shared, std::size_t candidate) {
    const std::string place = shared ? "shared" : fmt::format("of candidate {}", candidate);
    const auto group = static_cast<std::size_t>(segment.group);
    if (segment.group < 0 || group >= description.groups.size()) {
      throw Error(ErrorKind::usage, "segment " + place, fmt::format("has the unknown group {}", segment.group));
    }
    const TokenGroup& of = description.groups[group];
    if (shared != within(of.input, Dependence::query)) {
      throw Error(ErrorKind::usage, of.name, fmt::format("must {}be a shared segment", shared ? "not " : ""));
    }
    if (of.pivots_of) throw Error(ErrorKind::usage, of.name, "are pivots, which have no segments");
    const std::string name = shared ? of.name : fmt::format("{} {}", of.name, candidate);
    check_segment(description, segment, name);
    check_derivable(description, segment, name);
    if (of.derived && (segment.states.empty() || segment.tokens() != static_cast<std::size_t>(of.derived->tokens))) {
      throw Error(ErrorKind::usage, name, fmt::format("must be given as {} states", of.derived->tokens));
    }
  };
  for (const Segment& segment : batch.shared) check(segment, true, 0);
  for (std::size_t i = 0; i < batch.candidates.size(); ++i) {
    for (const Segment& segment : batch.candidates[i]) check(segment, false, i);
  }
  if (!documents && batch.documents.empty()) return;
  std::size_t first = 0;
  bool runs = documents;
  for (std::size_t i = 0; runs && i < batch.documents.size(); ++i) {
    const DocumentPassages& document = batch.documents[i];
    runs = document.candidates > 0 && document.candidates <= batch.candidates.size() - first;
    if (!runs) break;
    const auto passages = batch.candidates.subspan(first, document.candidates);
    check_document(description, batch, document, passages, fmt::format("document {}", i));
    first += document.candidates;
  }
  if (!runs || first != batch.candidates.size()) {
    throw Error(ErrorKind::usage, "batch", "its documents are not runs of its candidates",
                "give an encoder of documents in passages such documents, and no other encoder any");
  }
}

}  // namespace relucent
