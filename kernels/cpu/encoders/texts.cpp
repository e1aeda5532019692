// Encoders of late interaction: texts by themselves, of which each token gives a vector, or all tokens together one.

#include <algorithm>
#include <cmath>

#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {
namespace {

class Texts final : public Encoder {
 public:
  explicit Texts(const EncoderSource& source)
      : Encoder(EncoderKind::texts),
        core_(source),
        pools_(source.description.head.per_text),
        size_(static_cast<std::size_t>(source.description.head_size())),
        unit_(source.description.head.unit_vectors) {
    if (!pools_) projection_ = core_.pack(core_.direct_arithmetic(), source.weights.head_steps.front().dense);
  }

  void encode(std::span<const Segment> texts, std::span<float> vectors, Team& everybody,
              const StopSignal& stop) const override {
    if (texts.empty()) return;
    std::vector<float*> places;  // of each text's vectors
    float* place = vectors.data();
    for (const Segment& text : texts) {
      places.push_back(place);
      place += (pools_ ? 1 : text.tokens()) * size_;
    }
    core_.encode_texts(texts, everybody, stop, [&](const Group& group, std::span<const std::size_t> items, Team& team) {
      const std::size_t all = core_.panels(group.vectors), panel = core_.kernels().panel;
      const float* const x = team.group.x.data();
      if (pools_) {
        const bool first = core_.description().head.pooling == Pooling::first;
        std::vector<float> pooled(group.sequences.size() * size_);
        if (!first) core_.pool(group, x, pooled.data(), size_);
        for (std::size_t i = 0; i < group.sequences.size(); ++i) {
          float* const state = pooled.data() + i * size_;
          if (first) core_.copy_tokens(x, size_, group.sequences[i].first, 1, state, 1);
          std::copy_n(state, size_, places[items[i]]);
        }
        return;
      }
      float* const projected = team.group.own<Memory>().projected.grow(all * padded(size_) * panel);
      Core::share_out(team, all, all, [&](std::size_t first, std::size_t count, Workspace& own) {
        core_.multiply(projection_, x + first * padded(core_.hidden()) * panel, core_.hidden(),
                       core_.vectors_of(first, count, group.vectors), Product::Output::store,
                       projected + first * padded(size_) * panel, size_, own);
      });
      team.each(group.sequences.size(), [&](std::size_t index, Workspace&) {
        const Sequence& sequence = group.sequences[index];
        float* to = places[items[index]];
        for (std::size_t token = 0; token < sequence.document.tokens(); ++token, to += size_) {
          const float* const from = core_.place(projected, size_, sequence.first + token);
          double squares = 0;
          for (std::size_t f = 0; f < size_; ++f) squares += static_cast<double>(from[f * panel]) * from[f * panel];
          constexpr double shortest = 1e-12;  // as in PyTorch's normalize()
          const double divisor = unit_ ? std::max(std::sqrt(squares), shortest) : 1;
          for (std::size_t f = 0; f < size_; ++f) to[f] = static_cast<float>(from[f * panel] / divisor);
        }
      });
    });
  }

 private:
  struct Memory : Scratch {   // of a group or a worker
    Buffer<float> projected;  // activation [size]
  };

  Core core_;
  bool pools_;
  PackedLinear projection_;  // unless pools_
  std::size_t size_;
  bool unit_;
};

}  // namespace

std::unique_ptr<const Encoder> make_texts(const EncoderSource& source) { return std::make_unique<Texts>(source); }

}  // namespace relucent::cpu
