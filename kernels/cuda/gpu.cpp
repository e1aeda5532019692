#include "kernels/cuda/gpu.h"

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
static_assert(kMaxRows / kTileRows + 4 * kMaxSequences < 65'536, "tiles are the grid's second dimension");
// Concurrent searches on one GPU; others wait. Two keep it busy while a third writes its tables.
constexpr std::size_t kMaxWorkspaces = 3;
// A workspace takes at most this fraction (one eighth) of the free memory, because other programs need some too.
constexpr std::size_t kPartOfMemory = 8;

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
        std::exception_ptr failure;
        try {
          made = encoder.make_workspace(first_room_);
        } catch (const OutOfMemory&) {
        } catch (...) {
          failure = std::current_exception();
        }
        if (made != nullptr) return made;
        lock.lock();
        most_ = --made_;  // make no more: wait for an existing one
        returned_.notify_all();
        if (failure) std::rethrow_exception(failure);
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

  const Encoder encoder;

 private:
  /// Room for `rows` rows and their tables, but at least for the longest possible input.
  ChunkSize room_for(std::size_t rows) const {
    const std::size_t most_query = longest_;
    ChunkSize room = size_of_one(most_query, longest_, encoder.shape());
    room.rows = std::max(room.rows, rows);
    room.sequences = std::min(kMaxSequences, std::max<std::size_t>(1, rows / 16));
    room.tiles += rows / kTileRows + 4 * room.sequences;
    room.segments += rows / kSegmentSlots + 2 * room.sequences;
    return room;
  }

  /// The driver loads code when it first runs. If something cannot run at all, it fails here and not in the first
  /// search.
  void warm_up(Workspace& w) const {
    const std::int32_t zero = 0;
    const relucent::Segment token{.ids = {&zero, 1}, .positions = {&zero, 1}};
    const PairBatch batch{token, token, {token}, {{}}};
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
    workspace_->stream.settle();
    state_.give_back(std::move(workspace_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  Workspace& operator*() const { return *workspace_; }
  Workspace* operator->() const { return workspace_.get(); }

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

DeviceCost Gpu::score(const PairBatch& batch, std::span<float> logits, const StopSignal& stop) {
  ++in_flight_;
  const std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int>*)> leaving(&in_flight_,
                                                                               [](auto* count) { --*count; });
  stop.throw_if_due("scoring the candidates");
  return on_device([&](State& on) {
    const Borrowed workspace(on, stop);
    const std::vector<Chunk> chunks = chunks_of(batch, on.encoder.shape(), workspace->room);
    DeviceCost cost;
    const auto finish = [&](std::size_t i) {
      ChunkBuffers& buffers = workspace->buffers[i % 2];
      buffers.clock.wait();
      const float* const results = reinterpret_cast<const float*>(buffers.results.data());
      std::copy_n(results, chunks[i].size.sequences, logits.begin() + static_cast<std::ptrdiff_t>(chunks[i].first));
      cost.time += buffers.clock.elapsed();
      const std::uint64_t bytes = on.encoder.activation_bytes(chunks[i].size) + ChunkTables(chunks[i].size).bytes;
      cost.bytes = std::max(cost.bytes, bytes);
    };
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      stop.throw_if_due("scoring the candidates");
      workspace->turn = i % 2;
      on.encoder.prepare(batch, chunks[i], *workspace);
      on.encoder.start(batch, chunks[i], *workspace);
      if (i > 0) finish(i - 1);
    }
    finish(chunks.size() - 1);
    workspace->stream.wait();  // has ended: nothing is left to settle
    return cost;
  });
}

HiddenStates Gpu::hidden_states(const PairBatch& pair) {
  return on_device([&](State& on) {
    const Borrowed workspace(on, {});
    return on.encoder.hidden_states(pair, *workspace);
  });
}

}  // namespace relucent::cuda
