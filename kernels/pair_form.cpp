#include "kernels/pair_form.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "relucent/error.h"

namespace relucent {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& problem) {
  throw Error(ErrorKind::unsupported, place, problem, "use device = \"ref\"");
}

bool sees(const Views& views, std::int32_t from, std::int32_t to) {
  const std::vector<View>& of_group = views[static_cast<std::size_t>(from)];
  return !of_group.empty() && of_group[static_cast<std::size_t>(to)].kind != View::Kind::none;
}

bool windows_beyond_document(const Views& views) {
  for (std::size_t from = 0; from < views.size(); ++from) {
    for (std::size_t to = 0; to < views[from].size(); ++to) {
      if (views[from][to].kind == View::Kind::window && (from != kDocument || to != kDocument)) return true;
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
                  std::none_of(of_cls.begin(), of_cls.end(), [](const View& view) {
                    return view.kind == View::Kind::window || view.kind == View::Kind::across;
                  });
  layers_apart = last.norm == NormPlacement::after ? plan.layers_apart() : 0;
}

std::vector<const float*> InteractionBatch::contexts(const float* encoded, std::size_t size) const {
  std::vector<const float*> all = states;
  for (const float*& context : all) {
    if (context == nullptr) context = std::exchange(encoded, encoded + size);
  }
  return all;
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

PairBatch pair_batch(const EncoderDescription& description, const ScoringBatch& batch, bool takes_states) {
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
  const EncoderKind kind = kind_of(description);
  const bool causal = kind == EncoderKind::causal;
  if (pair.cls.tokens() != (causal ? 0U : 1U)) refuse("[CLS]", causal ? "is a token" : "is not one token");
  const bool interacts = kind == EncoderKind::set && description.groups.size() > kInteraction;
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
    windowed = windowed || query_windowed || views[kDocument][kDocument].kind == View::Kind::window;
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
    for (const Segment& segment : segments) {
      if (!takes_states || segment.group != kDocument) require(segment, name);
    }
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
