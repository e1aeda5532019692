#include "kernels/cuda/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "kernels/cuda/context.h"
#include "kernels/cuda/device.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

// Enough rows to fill any GPU, few enough that their activations (300 MB with 384 features in 16 bits) fit beside other
// data.
constexpr std::size_t kMaxRows = 65'536;
constexpr std::size_t kMaxSequences = 1024;
static_assert(kMaxRows / kTileRows + kMaxRows / kPartTokens + 4 * kMaxSequences < 65'536,
              "tiles are the grid's second dimension");
// Concurrent searches on one GPU; others wait. Two keep it busy while a third writes its tables.
constexpr std::size_t kMaxWorkspaces = 3;
// A workspace takes at most this fraction (one eighth) of the free memory, because other programs need some too.
constexpr std::size_t kPartOfMemory = 8;
// Tiles are the grid's second dimension.
constexpr std::size_t kMaxTiles = 65'535;

/// Starts the work of `count` chunks, each while the device computes the one before, and calls finish(i, its buffers)
/// when the i-th has ended.
template <typename Start, typename Finish>
void run_chunks(Workspace& w, std::size_t count, const StopSignal& stop, DeviceCost& cost, const Start& start,
                const Finish& finish) {
  const auto end = [&](std::size_t i) {
    ChunkBuffers& buffers = w.buffers[i % 2];
    buffers.clock.wait();
    finish(i, buffers);
    cost.time += buffers.clock.elapsed();
  };
  for (std::size_t i = 0; i < count; ++i) {
    stop.throw_if_due("scoring the candidates");
    w.turn = i % 2;
    start(i);
    if (i > 0) end(i - 1);
  }
  end(count - 1);
}

void copy_logits(const ChunkBuffers& buffers, std::size_t count, std::size_t first, std::span<float> logits) {
  const float* const results = reinterpret_cast<const float*>(buffers.results.data());
  std::copy_n(results, count, logits.begin() + static_cast<std::ptrdiff_t>(first));
}

/// The texts of an encoder with interaction as the documents of a batch.
PairBatch texts_of(std::span<const relucent::Segment> texts) {
  PairBatch batch;
  batch.documents.assign(texts.begin(), texts.end());
  batch.globals.resize(texts.size());
  return batch;
}

void encode_texts(const Encoder& encoder, std::span<const relucent::Segment> texts, std::span<float> contexts,
                  Workspace& w, const StopSignal& stop, DeviceCost& cost) {
  if (texts.empty()) return;
  const PairBatch batch = texts_of(texts);
  const std::vector<Chunk> chunks = chunks_of(batch, encoder.shape(), w.room);
  run_chunks(
      w, chunks.size(), stop, cost,
      [&](std::size_t i) {
        encoder.prepare(batch, chunks[i], w);
        encoder.start_texts(batch, chunks[i], w);
      },
      [&](std::size_t i, const ChunkBuffers& buffers) {
        const Chunk& chunk = chunks[i];
        encoder.read_contexts(buffers, chunk.size.sequences, contexts.data() + chunk.first * encoder.context_size());
        cost.bytes = std::max<std::uint64_t>(cost.bytes, encoder.bytes(chunk.size));
      });
}

/// Scores candidates that have these contexts.
void interact(const Encoder& encoder, const relucent::Segment& query, std::span<const float* const> contexts,
              std::span<float> logits, Workspace& w, const StopSignal& stop, DeviceCost& cost) {
  const PairBatch batch = texts_of({&query, 1});
  const Chunk of_query = chunks_of(batch, encoder.shape(), w.room).front();
  const std::size_t most = encoder.most_candidates(w.room, query.tokens());
  const std::size_t chunks = (contexts.size() + most - 1) / most, each = (contexts.size() + chunks - 1) / chunks;
  const auto first = [&](std::size_t i) { return std::min(contexts.size(), (i - 1) * each); };
  const auto count = [&](std::size_t i) { return first(i + 1) - first(i); };
  // The first chunk is the query.
  run_chunks(
      w, 1 + chunks, stop, cost,
      [&](std::size_t i) {
        if (i == 0) {
          encoder.prepare(batch, of_query, w);
          encoder.start_query(batch, of_query, w);
        } else {
          encoder.start_interaction(contexts.subspan(first(i), count(i)), query.tokens(), w);
        }
      },
      [&](std::size_t i, const ChunkBuffers& buffers) {
        if (i > 0) copy_logits(buffers, count(i), first(i), logits);
        const ChunkSize size = i == 0 ? of_query.size : encoder.interaction_size(count(i), query.tokens());
        cost.bytes = std::max<std::uint64_t>(cost.bytes, encoder.bytes(size));
      });
}

}  // namespace

/// Everything on the device.
class Gpu::State {
 public:
  State(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32)
      : encoder(device, description, weights, tf32), longest_(static_cast<std::size_t>(longest_input(description))) {
    free_.reserve(kMaxWorkspaces);  // giving back must not fail
    free_.push_back(make_first(device));
    first_room_ = free_.front()->room;
    made_ = 1;
    warm_up(*free_.front());
  }

  /// A workspace for the caller's exclusive use; waits while all are taken.
  std::unique_ptr<Workspace> take(const StopSignal& stop) {
    std::unique_lock lock(mutex_);
    while (free_.empty()) {
      if (made_ < most_) {
        ++made_;
        lock.unlock();
        std::unique_ptr<Workspace> made;
        std::exception_ptr failure, out_of_memory;
        try {
          made = encoder.make_workspace(first_room_);
        } catch (const OutOfMemory&) {
          out_of_memory = std::current_exception();
        } catch (...) {
          failure = std::current_exception();
        }
        if (made != nullptr) return made;
        lock.lock();
        most_ = std::max<std::size_t>(1, --made_);  // make no more: wait for an existing one
        returned_.notify_all();
        if (failure) std::rethrow_exception(failure);
        if (made_ == 0) std::rethrow_exception(out_of_memory);
        continue;
      }
      const auto ready = [&] { return !free_.empty() || made_ < most_; };
      if (stop.deadline) {
        returned_.wait_until(lock, stop.stop, *stop.deadline, ready);
      } else {
        returned_.wait(lock, stop.stop, ready);
      }
      stop.throw_if_due("waiting for the GPU");
    }
    std::unique_ptr<Workspace> taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }

  void give_back(std::unique_ptr<Workspace> workspace) {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(std::move(workspace));
    }
    returned_.notify_all();  // the one that wakes first may be past its deadline
  }

  /// Makes a taken workspace fit for a chunk that cannot be split. If there is no memory for it, the workspace is null.
  void enlarge(std::unique_ptr<Workspace>& workspace, const ChunkSize& chunk) {
    const ChunkSize room = room_for_both(workspace->room, chunk);
    workspace.reset();
    workspace = encoder.make_workspace(room);
  }

  /// Instead of giving back one that enlarge() has lost.
  void lose() {
    {
      const std::lock_guard lock(mutex_);
      --made_;
    }
    returned_.notify_all();
  }

  const Encoder encoder;

 private:
  /// Room for `rows` rows and their tables, but at least for the longest possible input.
  ChunkSize room_for(std::size_t rows) const {
    const std::size_t most_query = longest_;
    ChunkSize room = size_of_one(most_query, longest_, encoder.shape());
    room.rows = std::max(room.rows, rows);
    room.sequences = std::min(kMaxSequences, std::max<std::size_t>(1, rows / 16));
    room.tiles += rows / kTileRows + rows / kPartTokens + 4 * room.sequences;
    room.segments += rows / kSegmentSlots + 2 * room.sequences;
    room.rows = std::max(room.rows, encoder.interaction_size(1, most_query).rows);
    if (encoder.has_exchanges()) {
      // More than most documents need, and no more memory than their tokens; see enlarge().
      room.documents = room.sequences;
      room.pivots = room.pivot_tiles = room.rows / 4;
      room.pivot_tokens = room.rows / 2;
      room.seen = 4 * room.rows;
    }
    return room;
  }

  /// The driver loads code when it first runs. If something cannot run at all, it fails here and not in the first
  /// search.
  void warm_up(Workspace& w) const {
    const std::int32_t zero = 0;
    const relucent::Segment token{.ids = {&zero, 1}, .positions = {&zero, 1}};
    if (encoder.context_size() > 0) {
      const std::vector<std::int32_t> zeros(encoder.context_tokens());
      const relucent::Segment text{.ids = zeros, .positions = zeros};
      std::vector<float> context(encoder.context_size());
      DeviceCost cost;
      encode_texts(encoder, {&text, 1}, context, w, {}, cost);
      const float* const contexts[] = {context.data()};
      float logit = 0;
      interact(encoder, token, contexts, {&logit, 1}, w, {}, cost);
      w.stream.wait();
      return;
    }
    PairBatch batch{token, token, {token}, {{}}};
    const Pivots::Pivot pivot{.tokens = 1, .seen = 1};
    Pivots pivots{.pivots = {&pivot, 1}, .tokens = {&zero, 1}, .seen = {&zero, 1}};
    const DocumentPassages document{1, {&pivots, 1}};
    if (encoder.has_exchanges()) {
      pivots.group = encoder.shape().pivot_groups.front();
      batch.joined = {&document, 1};
    }
    const Chunk chunk = chunks_of(batch, encoder.shape(), w.room).front();
    encoder.prepare(batch, chunk, w);
    encoder.start(batch, chunk, w);
    w.stream.wait();
  }

  /// The first workspace: at most 1 / kPartOfMemory of the free memory, less if the allocation fails.
  std::unique_ptr<Workspace> make_first(int device) const {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), device, "querying the free memory");
    const std::size_t least = size_of_one(longest_, longest_, encoder.shape()).rows;
    for (std::size_t rows = kMaxRows;; rows /= 2) {
      const std::size_t bytes = encoder.activation_bytes(room_for(rows)) + encoder.products().workspace_bytes();
      if (rows > least && bytes > free / kPartOfMemory) continue;
      try {
        return encoder.make_workspace(room_for(rows));
      } catch (const OutOfMemory&) {
        if (rows <= least) throw;  // not even room for the longest input
      }
    }
  }

  std::size_t longest_;
  ChunkSize first_room_;
  std::mutex mutex_;
  std::condition_variable_any returned_;
  std::vector<std::unique_ptr<Workspace>> free_;
  std::size_t made_ = 0, most_ = kMaxWorkspaces;
};

/// A workspace until the end of a scope, given back when nothing runs in it any more.
class Gpu::Borrowed {
 public:
  Borrowed(State& state, const StopSignal& stop) : state_(state), workspace_(state.take(stop)) {}
  ~Borrowed() {
    if (workspace_ == nullptr) {
      state_.lose();
    } else {
      workspace_->stream.settle();
      state_.give_back(std::move(workspace_));
    }
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  Workspace& operator*() const { return *workspace_; }
  Workspace* operator->() const { return workspace_.get(); }
  void enlarge(const ChunkSize& chunk) { state_.enlarge(workspace_, chunk); }

 private:
  State& state_;
  std::unique_ptr<Workspace> workspace_;
};

Gpu::Gpu(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32)
    : device_(device), description_(description), weights_(weights), tf32_(tf32) {
  state_ = make_state();
}

std::shared_ptr<Gpu::State> Gpu::make_state() const {
  const CurrentDevice current(device_);
  const auto take_down = [device = device_](State* state) {
    try {
      const CurrentDevice there(device);
      delete state;
    } catch (const Error&) {
      // Leaked: without its context it cannot be freed. The runtime would use another context, if need be on GPU 0.
    }
  };
  return {new State(device_, description_, weights_, tf32_), take_down};
}

std::shared_ptr<Gpu::State> Gpu::state() {
  const std::lock_guard lock(mutex_);
  if (state_ == nullptr) state_ = make_state();
  return state_;
}

void Gpu::forget(const std::shared_ptr<State>& failed) {
  const std::lock_guard lock(mutex_);
  if (failed == nullptr || state_ == failed) state_.reset();
}

bool Gpu::failed_lately() const noexcept {
  constexpr std::chrono::seconds lately(5);
  return std::chrono::steady_clock::now() - failed_at_.load() < lately;
}

template <typename Work>
auto Gpu::on_device(const Work& work) {
  std::shared_ptr<State> now;
  try {
    const CurrentDevice current(device_);
    now = state();
    return work(*now);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device) {
      failed_at_ = std::chrono::steady_clock::now();
      forget(now);
    }
    throw;
  }
}

std::vector<std::string> Gpu::products() {
  return on_device([](State& on) { return on.encoder.products().algorithms(); });
}

template <typename Work>
DeviceCost Gpu::serve(const StopSignal& stop, const Work& work) {
  ++in_flight_;
  const std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int>*)> leaving(&in_flight_,
                                                                               [](auto* count) { --*count; });
  stop.throw_if_due("scoring the candidates");
  return on_device([&](State& on) {
    Borrowed workspace(on, stop);
    DeviceCost cost;
    work(on.encoder, workspace, cost);
    workspace->stream.wait();  // has ended: nothing is left to settle
    return cost;
  });
}

DeviceCost Gpu::score(const PairBatch& batch, std::span<float> logits, const StopSignal& stop) {
  return serve(stop, [&](const Encoder& encoder, Borrowed& workspace, DeviceCost& cost) {
    const std::vector<Chunk> chunks = chunks_of(batch, encoder.shape(), workspace->room);
    ChunkSize most;
    for (const Chunk& chunk : chunks) most = room_for_both(most, chunk.size);
    if (most.tiles > kMaxTiles || most.pivot_tiles > kMaxTiles) {
      throw Error(ErrorKind::unsupported, "CUDA backend",
                  fmt::format("cannot compute a document of {} tokens in one piece", most.rows),
                  "use device = \"cpu\", or cut the document");
    }
    if (!most.fits(workspace->room)) workspace.enlarge(most);
    run_chunks(
        *workspace, chunks.size(), stop, cost,
        [&](std::size_t i) {
          encoder.prepare(batch, chunks[i], *workspace);
          encoder.start(batch, chunks[i], *workspace);
        },
        [&](std::size_t i, const ChunkBuffers& buffers) {
          const Chunk& chunk = chunks[i];
          if (encoder.has_exchanges()) {
            copy_logits(buffers, chunk.size.documents, chunk.first_document, logits);
          } else {
            copy_logits(buffers, chunk.size.sequences, chunk.first, logits);
          }
          cost.bytes = std::max<std::uint64_t>(cost.bytes, encoder.bytes(chunk.size));
        });
  });
}

DeviceCost Gpu::score(const InteractionBatch& batch, std::span<float> logits, const StopSignal& stop) {
  return serve(stop, [&](const Encoder& encoder, Borrowed& workspace, DeviceCost& cost) {
    std::vector<relucent::Segment> texts;
    for (const relucent::Segment& candidate : batch.candidates) {
      if (candidate.states.empty()) texts.push_back(candidate);
    }
    std::vector<float> encoded(texts.size() * encoder.context_size());
    encode_texts(encoder, texts, encoded, *workspace, stop, cost);
    std::vector<const float*> contexts;
    const float* next = encoded.data();
    for (const relucent::Segment& candidate : batch.candidates) {
      contexts.push_back(candidate.states.empty() ? std::exchange(next, next + encoder.context_size())
                                                  : candidate.states.data());
    }
    interact(encoder, batch.query, contexts, logits, *workspace, stop, cost);
  });
}

DeviceCost Gpu::encode(std::span<const relucent::Segment> texts, std::span<float> contexts, const StopSignal& stop) {
  return serve(stop, [&](const Encoder& encoder, Borrowed& workspace, DeviceCost& cost) {
    encode_texts(encoder, texts, contexts, *workspace, stop, cost);
  });
}

HiddenStates Gpu::hidden_states(const PairBatch& pair) {
  return on_device([&](State& on) {
    Borrowed workspace(on, {});
    return on.encoder.hidden_states(pair, *workspace);
  });
}

}  // namespace relucent::cuda
