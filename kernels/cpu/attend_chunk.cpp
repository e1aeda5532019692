// One head's attention of some sequences: who sees whom.
#include <algorithm>
#include <limits>

#include "kernels/cpu/encoder.h"

namespace relucent::cpu {

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
    if (group.query_in_group && group.query > 0) attend(kQuery);
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
