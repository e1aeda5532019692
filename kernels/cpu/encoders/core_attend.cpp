#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {
namespace {

/// Tokens whose biases by relative positions are computed together: a multiple of all numbers of lanes.
constexpr std::size_t kBiasedTokens = 64;

/// Consecutive tokens of a sequence.
struct TokenRun {
  const float* query;
  float* output;
  Keys keys;
  std::ptrdiff_t position;  // of the first token
  std::size_t place;        // of the first token, in the sequence
};

/// Fills in Keys::biases of what some tokens, `own`, see of `seen`, as far as a window reaches.
void put_biases(const RelativeProducts& relative, const TokenRun& own, const TokenRun& seen, std::int32_t window,
                float scale, float* biases, std::size_t bias_stride) {
  const auto own_count = static_cast<std::ptrdiff_t>(own.keys.count), shift = own.position - seen.position,
             count = static_cast<std::ptrdiff_t>(seen.keys.count);
  for (std::ptrdiff_t distance = shift - count + 1; distance < shift + own_count; ++distance) {
    if (std::abs(distance) > window) continue;
    const std::size_t row = (relative.positions->row(distance) - relative.first_row) * relative.stride;
    const float* const query = relative.of_queries == nullptr ? nullptr : relative.of_queries + row + own.place;
    const float* const key = relative.of_keys == nullptr ? nullptr : relative.of_keys + row + seen.place;
    const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, distance - shift),
                         end = std::min(own_count, count + distance - shift);
    for (std::ptrdiff_t i = first; i < end; ++i) {
      const std::ptrdiff_t j = i + shift - distance;
      float sum = 0;
      if (query != nullptr) sum += query[i];
      if (key != nullptr) sum += key[j];
      biases[static_cast<std::size_t>(j) * bias_stride + static_cast<std::size_t>(i)] = scale * sum;
    }
  }
}

}  // namespace

std::vector<float> hidden_later_tokens() {
  std::vector<float> biases(kCausalTokens * kCausalStride);
  for (std::size_t key = 0; key < kCausalTokens; ++key) {
    std::fill_n(biases.begin() + static_cast<std::ptrdiff_t>(key * kCausalStride), key,
                -std::numeric_limits<float>::max());
  }
  return biases;
}

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
  const std::size_t key_heads = heads_ / sharing_;
  const std::vector<Chunk> chunks = chunks_of(group, key_heads, team);
  team.each(chunks.size() * key_heads, [&](std::size_t index, Workspace& own) {
    const Chunk& chunk = chunks[index / key_heads];
    const std::size_t key_head = index % key_heads, key_row = sharing_ * head_size_;
    // The band reads up to kReach tokens before the first and after the last.
    const std::size_t stride = kReach + chunk.panels * panel + kReach;
    float* values = own.head.grow(head_features_ * stride) + kReach;
    float* output = own.head_output.grow(head_size_ * stride) + kReach;
    const OperandOut of_chunk = from_panel(input, hidden_, chunk.first_panel);
    Product product = layer.heads.product(key_head * head_features_, head_features_);
    product.operand = of_chunk.units;
    product.token_scales = of_chunk.token_scales;
    product.vectors = vectors_of(chunk.first_panel, chunk.panels, group.vectors);
    product.out = values;
    product.panel_stride = panel;
    product.feature_stride = stride;
    kernels_.product(product);
    if (!layer.query_norm.empty()) {
      for (std::size_t row = 0; row <= key_row; row += head_size_) {
        norm_head(row < key_row ? layer.query_norm : layer.key_norm, values + row * stride, stride,
                  chunk.panels * panel);
      }
    }
    if (layer.rotation) {
      const std::size_t slots = panels(group.vectors) * panel, half = head_size_ / 2;
      const float* cosines = of_group.rotations.data() + *layer.rotation * 2 * half * slots + chunk.first_panel * panel;
      for (std::size_t row = 0; row <= key_row; row += head_size_) {  // queries, key
        kernels_.rotate({.rows = values + row * stride,
                         .stride = stride,
                         .size = head_size_,
                         .cosines = cosines,
                         .sines = cosines + half * slots,
                         .table_stride = slots,
                         .tokens = chunk.panels * panel});
      }
    }
    const std::size_t end_token = chunk.first_token + chunk.tokens, before = chunk.first_panel * panel;
    for (std::size_t shared = 0; shared < sharing_; ++shared) {
      const float* const keys = values + key_row * stride;
      const HeadRows of{.head = key_head * sharing_ + shared,
                        .stride = stride,
                        .query = values + shared * head_size_ * stride,
                        .keys = keys,
                        .values = keys + head_size_ * stride,
                        .output = output};
      attend(chunk, of, own);
      if (packs_heads()) {
        kernels_.pack_rows({.rows = output + chunk.first_token - before,
                            .stride = stride,
                            .first_feature = of.head * head_size_,
                            .count = head_size_,
                            .first_token = chunk.first_token,
                            .tokens = chunk.tokens,
                            .features = width_},
                           {arithmetic_, context, nullptr});
        continue;
      }
      for (std::size_t d = 0; d < head_size_; ++d) {
        for (std::size_t p = chunk.first_panel; p < chunk.first_panel + chunk.panels; ++p) {
          const std::size_t first = std::max(chunk.first_token, p * panel), end = std::min(end_token, (p + 1) * panel);
          std::copy_n(output + d * stride + first - before, end - first,
                      context + (p * rows + of.head * head_size_ + d) * panel + first % panel);
        }
      }
    }
  });
}

void Core::norm_head(const std::vector<float>& gamma, float* rows, std::size_t stride, std::size_t tokens) const {
  constexpr std::size_t kTogether = 4;  // a divisor of every number of lanes
  const float size = static_cast<float>(head_size_);
  for (std::size_t first = 0; first < tokens; first += kTogether) {
    float scales[kTogether] = {};
    for (std::size_t d = 0; d < head_size_; ++d) {
      const float* const from = rows + d * stride + first;
      for (std::size_t i = 0; i < kTogether; ++i) scales[i] += from[i] * from[i];
    }
    for (float& scale : scales) scale = 1 / std::sqrt(scale / size + description_.norm_epsilon);
    for (std::size_t d = 0; d < head_size_; ++d) {
      float* const to = rows + d * stride + first;
      for (std::size_t i = 0; i < kTogether; ++i) to[i] *= scales[i] * gamma[d];
    }
  }
}

void Core::attend_causally(const HeadRows& of, std::size_t first, std::size_t tokens, const Keys& before,
                           Workspace& own) const {
  for (std::size_t done = 0; done < tokens; done += kCausalTokens) {
    const std::size_t token = first + done;
    Attention a;
    a.query = of.query + token;
    a.output = of.output + token;
    a.query_stride = a.output_stride = of.stride;
    a.tokens = std::min(kCausalTokens, tokens - done);
    a.head_size = head_size_;
    a.arithmetic = projection_arithmetic_;
    a.scale = scale_;
    a.scores = own.scores.grow((before.count + tokens + 4 * kReach + 8) * kernels_.lanes);
    if (before.count > 0) a.segments[a.segment_count++] = before;
    if (done > 0) a.segments[a.segment_count++] = {of.keys + first, of.values + first, of.stride, done};
    Keys& last = a.segments[a.segment_count++];
    last = {of.keys + token, of.values + token, of.stride, a.tokens};
    last.biases = later_tokens_.data();
    last.bias_stride = kCausalStride;
    kernels_.attend(a);
  }
}

void Core::attend(std::size_t number, const Group& group, const QueryStates* shared, Team& team) const {
  const Layer& layer = layers_[number];
  attend(layer, group, team, [&](const Chunk& chunk, const HeadRows& of, Workspace& own) {
    const Keys of_query = shared != nullptr ? shared->of_head(number, of.head / sharing_, head_size_) : Keys();
    if (later_tokens_.empty()) {
      attend_views(layer, of, group, chunk, of_query, biases_of(layer, of.head, team.group), own);
      return;
    }
    for (const Sequence& sequence : chunk.sequences) {
      attend_causally(of, sequence.first - chunk.first_panel * kernels_.panel, group.tokens_of(sequence), of_query,
                      own);
    }
  });
}

RelativeProducts Core::relative_products(const RelativePositions& relative, std::size_t head, const Group& group,
                                         const Sequence& sequence, const float* rows, std::size_t stride,
                                         Workspace& own) const {
  std::int32_t lowest = sequence.document.positions.front(), highest = lowest;
  for (const Segment* segment : {&group.cls, &group.query, &sequence.document}) {
    if (segment->positions.empty()) continue;
    lowest = std::min(lowest, segment->positions.front());
    highest = std::max(highest, segment->positions.back());
  }
  const std::size_t tokens = group.tokens_of(sequence), buckets = static_cast<std::size_t>(relative.scheme.buckets);
  RelativeProducts products{&relative, nullptr, nullptr, relative.row(lowest - highest), whole(tokens), nullptr};
  const std::size_t count = relative.row(highest - lowest) + 1 - products.first_row;
  float* to = own.relative.grow(2 * count * products.stride + tokens * (kBiasedTokens + 1) + kernels_.lanes);
  const auto multiply = [&](const std::vector<float>& table, const float* with) -> const float* {
    if (table.empty()) return nullptr;
    kernels_.token_products({with, stride, head_size_, tokens},
                            table.data() + head * head_size_ * buckets + products.first_row, buckets, count, to,
                            products.stride);
    return std::exchange(to, to + count * products.stride);
  };
  products.of_queries = multiply(relative.keys, rows);
  products.of_keys = multiply(relative.queries, rows + head_size_ * stride);
  products.biases = to;
  return products;
}

void Core::attend_views(const Layer& layer, const HeadRows& of, const Group& group, const Chunk& chunk,
                        const Keys& shared_query, const float* biases, Workspace& w) const {
  const Views& views = layer.views;
  const std::size_t before = chunk.first_panel * kernels_.panel, stride = of.stride;
  const float *const rows = of.query, *const keys = of.keys, *const values = of.values;
  float* const output = of.output;
  for (const Sequence& sequence : chunk.sequences) {
    const std::size_t start = sequence.first - before;
    const std::size_t first = group.first_document(sequence) - before, document = sequence.document.tokens();
    const auto run = [&](std::size_t token, std::size_t count, std::ptrdiff_t position) {
      return TokenRun{
          rows + token, output + token, {keys + token, values + token, stride, count}, position, token - start};
    };
    // The position of what has no tokens is not read.
    const auto begin = [](const Segment& text) { return text.positions.empty() ? 0 : text.positions.front(); };
    TokenRun runs[kGlobal + 1] = {run(start, group.cls.tokens(), begin(group.cls)),
                                  run(start + group.cls.tokens(), group.query.tokens(), begin(group.query)),
                                  run(first, document, begin(sequence.document))};
    if (!group.query_in_group) runs[kQuery].keys = shared_query;
    runs[kDocument].keys.count -= sequence.document.expansion;
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
                       0,
                       0};
    }
    RelativeProducts relative;
    if (layer.relative)
      relative = relative_products(*layer.relative, of.head, group, sequence, rows + start, stride, w);
    const std::size_t most_keys = group.cls.tokens() + group.query.tokens() + document + globals.size();
    w.scores.grow((most_keys + 4 * kReach + 8) * kernels_.lanes);
    // `count` tokens of a group, from its token `skipped` on.
    const auto attend = [&](std::int32_t from, std::size_t skipped, std::size_t count) {
      TokenRun own = runs[from];
      own.query += skipped;
      own.output += skipped;
      own.position += static_cast<std::ptrdiff_t>(skipped);
      own.place += skipped;
      own.keys.count = count;
      Attention a;
      a.query = own.query;
      a.output = own.output;
      a.query_stride = a.output_stride = from == kGlobal ? global_stride : stride;
      a.tokens = count;
      a.biases = biases;
      a.head_size = head_size_;
      a.arithmetic = projection_arithmetic_;
      a.scale = scale_;
      a.scores = w.scores.data();
      bool windows = false;
      float* own_biases = relative.biases;
      // The document's run also has the global tokens, hidden from its own.
      for (std::int32_t to = kCls; to <= (from == kDocument && !globals.empty() ? kGlobal : kDocument); ++to) {
        const View& view = views[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        Keys seen = runs[to].keys;
        if (view.kind == View::Kind::none || seen.count == 0) continue;
        const bool window = view.kind == View::Kind::window;
        if (relative.positions != nullptr) {
          seen.biases = own_biases;
          seen.bias_stride = whole(count) + 1;  // not a power of two, so that columns fill all sets of a cache
          put_biases(relative, own, runs[to], window ? view.window : std::numeric_limits<std::int32_t>::max(), scale_,
                     own_biases, seen.bias_stride);
          own_biases += seen.count * seen.bias_stride;
        } else if (from == to && (to == kDocument || (window && seen.count > 1))) {
          a.band = seen;
          a.window = window ? static_cast<std::size_t>(view.window) : count;
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
      if (a.tokens == 1 && from == kCls && !windows && biases == nullptr && relative.positions == nullptr) {
        kernels_.attend_one(a);
      } else {
        kernels_.attend(a);
      }
    };
    const auto attend_all = [&](std::int32_t from) {
      const std::size_t count = from == kDocument ? document : runs[from].keys.count;
      const std::size_t each = relative.positions != nullptr ? kBiasedTokens : count;
      for (std::size_t done = 0; done < count; done += each) attend(from, done, std::min(each, count - done));
    };
    if (group.cls.tokens() > 0) attend_all(kCls);
    if (group.query_in_group && group.query.tokens() > 0) attend_all(kQuery);
    attend_all(kDocument);
    if (globals.empty()) continue;
    attend_all(kGlobal);
    for (std::size_t d = 0; d < head_size_; ++d) {
      for (std::size_t g = 0; g < globals.size(); ++g) {
        output[d * stride + first + globals[g]] = runs[kGlobal].output[d * global_stride + g];
      }
    }
  }
}

}  // namespace relucent::cpu
