// Encoders of late interaction: texts by themselves, of which each token gives a vector, or all tokens together one.
// Host code.

#include <algorithm>
#include <utility>

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {
namespace {

class Texts final : public ChunkEncoder {
 public:
  explicit Texts(const EncoderSource& source)
      : ChunkEncoder(EncoderKind::texts, source, {.texts = true}),
        pools_(source.description.head.per_text),
        size_(source.description.head_size()) {
    if (pools_) return;
    bias_ = core_.floats_at(source.weights.head_steps.front().dense.bias);
    MatmulForm form = core_.form(size_, core_.hidden(), source.weights.head_steps.front().dense.weight);
    form.float_result = true;
    projection_ = core_.matmul(form);
  }

  WorkspaceBytes bytes_of(const ChunkSize& room) const override {
    WorkspaceBytes bytes = core_.bytes_of(*this, room);
    bytes.results = std::max(bytes.results, vector_bytes(room));
    return bytes;
  }

  void warm_up(Workspace& w) const override {
    const PairBatch pair = Core::smallest_batch();
    core_.compute(*this, Core::texts_of(pair.documents), w);
  }

  void encode(std::span<const relucent::Segment> texts, std::span<float> vectors, BorrowedWorkspace& borrowed,
              const StopSignal& stop, DeviceCost& cost) const override {
    for (const relucent::Segment& text : texts) core_.check_segment(text, text.tokens());
    const PairBatch batch = Core::texts_of(texts);
    Workspace& w = *borrowed;
    float* next = vectors.data();  // chunks end in the order of the texts
    core_.run_batch(*this, batch, chunks_of(batch, core_.shape(), w.room), w, stop, cost,
                    [&](const Chunk& chunk, const ChunkBuffers& buffers) {
                      const std::size_t numbers = as_size(size_) * (pools_ ? chunk.size.sequences : chunk.size.rows);
                      to_floats(pools_ ? core_.element() : Element::f32, buffers.results.data(), numbers,
                                std::exchange(next, next + numbers));
                    });
  }

 private:
  /// In the memory of `wide`: fp32 [rows, size_], or elements [texts, size_].
  std::size_t vector_bytes(const ChunkSize& size) const {
    return as_size(size_) * (pools_ ? size.sequences * size_of(core_.element()) : size.rows * sizeof(float));
  }
  std::size_t activation_bytes(const ChunkSize& size) const override {
    const Core::Places places(core_, core_.anywhere(), size.rows);
    return static_cast<std::size_t>(std::max(places.end, places.wide + aligned(vector_bytes(size))) - places.x);
  }

  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override {
    w.now().clock.start(w.stream);
    const Core::Places places(core_, w.activations.data(), chunk.size.rows);
    core_.send_tables(chunk, w);
    core_.embed(chunk, w, places);
    const int rows = as_int(chunk.size.rows);
    for (const Core::Layer& layer : core_.layers()) {
      core_.block(layer, core_.attention_of(batch, chunk, layer, w), rows, rows, w, places);
    }
    const Head& head = core_.description().head;
    if (!pools_) {
      core_.run(*projection_, places.normed, places.wide, rows, w);
      auto* const vectors = reinterpret_cast<float*>(places.wide);
      check(finish_vectors(bias_, head.unit_vectors, size_, rows, vectors, w.stream), core_.device(),
            "starting the vectors");
    } else {
      const auto* const sequences = Core::table<Sequence>(w, core_.tables_of(chunk.size).sequences);
      const int texts = as_int(chunk.size.sequences);
      const PoolWork mean{sequences, texts, 0, false, false, true};
      check(head.pooling == Pooling::first
                ? derive(core_.element(), sequences, texts, 1, nullptr, places.normed, size_, places.wide, w.stream)
                : pool(core_.element(), mean, places.normed, size_, places.wide, w.stream),
            core_.device(), "pooling the texts");
    }
    w.stream.copy_to_host(w.now().results.data(), places.wide, vector_bytes(chunk.size));
    w.now().clock.stop(w.stream);
  }

  bool pools_;
  int size_;                            // of a vector
  std::unique_ptr<Matmul> projection_;  // unless pools_
  const float* bias_ = nullptr;
};

}  // namespace

std::unique_ptr<const Encoder> make_texts(const EncoderSource& source) { return std::make_unique<Texts>(source); }

}  // namespace relucent::cuda
