#include <algorithm>
#include <limits>

#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {

std::vector<Core::Chunk> Core::chunks_of(const Group& group, std::size_t tasks_each, const Team& team) const {
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

void Core::attend(const Layer& layer, const Group& group, Team& team, const Attend& attend) const {
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
}

void Core::attend(std::size_t number, const Group& group, const QueryStates* shared, Team& team) const {
  const Layer& layer = layers_[number];
  attend(layer, group, team,
         [&](const Chunk& chunk, std::size_t head, const float*, float*, std::size_t stride, Workspace& own) {
           const Keys of_query = shared != nullptr ? shared->of_head(number, head, head_size_) : Keys();
           attend_views(layer.views, group, chunk, of_query, biases_of(layer, head, team.group), stride, own);
         });
}

void Core::attend_views(const Views& views, const Group& group, const Chunk& chunk, const Keys& shared_query,
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
    const std::size_t first = group.first_document(sequence) - before, document = sequence.document.tokens();
    const auto run = [&](std::size_t token, std::size_t count, std::ptrdiff_t position) {
      return Run{rows + token, output + token, {keys + token, values + token, stride, count}, position};
    };
    // The position of what has no tokens is not read.
    const auto begin = [](const Segment& of) { return of.positions.empty() ? 0 : of.positions.front(); };
    Run runs[kGlobal + 1] = {run(start, group.cls.tokens(), begin(group.cls)),
                             run(start + group.cls.tokens(), group.query.tokens(), begin(group.query)),
                             run(first, document, begin(sequence.document))};
    if (!group.query_in_group) runs[kQuery].keys = shared_query;
    const std::span<const std::size_t> globals = sequence.globals;
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
    const std::size_t most_keys = group.cls.tokens() + group.query.tokens() + document + globals.size();
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
      // The document's run also has the global tokens, hidden from its own.
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
    if (group.cls.tokens() > 0) attend(kCls);
    if (group.query_in_group && group.query.tokens() > 0) attend(kQuery);
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

}  // namespace relucent::cpu
