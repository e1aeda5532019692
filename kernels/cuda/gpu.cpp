#include "kernels/cuda/gpu.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "kernels/cuda/context.h"
#include "kernels/cuda/device.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

// Concurrent searches on one GPU; others wait. Two keep it busy while a third writes its tables.
constexpr std::size_t kMaxWorkspaces = 3;
constexpr std::size_t kPartOfMemory = 8;  // an eighth: other programs need some too

}  // namespace

/// Everything on the device.
class Gpu::State {
 public:
  State(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32)
      : encoder(make_encoder({device, description, weights, tf32})), device_(device) {
    free_.reserve(kMaxWorkspaces);  // giving back must not fail
    free_.push_back(make_first_workspace());
    first_room_ = free_.front()->room;
    made_ = 1;
    encoder->warm_up(*free_.front());  // what cannot run at all fails here and not in the first search
    records_ = free_.front()->records;
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
          made = make_workspace(first_room_);
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
    workspace = make_workspace(room);
  }

  /// Instead of giving back one that enlarge() has lost.
  void lose() {
    {
      const std::lock_guard lock(mutex_);
      --made_;
    }
    returned_.notify_all();
  }

  /// Whether launches are recorded.
  bool records() const { return records_; }

  const std::unique_ptr<const Encoder> encoder;

 private:
  std::unique_ptr<Workspace> make_workspace(const ChunkSize& room) const {
    auto workspace = std::make_unique<Workspace>(device_, room, encoder->bytes_of(room));
    workspace->records = records_;
    return workspace;
  }

  /// A workspace of at most that part of the free memory, and less if the allocation fails; but at least for the
  /// longest possible input.
  std::unique_ptr<Workspace> make_first_workspace() const {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), device_, "querying the free memory");
    const std::size_t least = encoder->room_for(0).rows;
    for (std::size_t rows = kMaxRows;; rows /= 2) {
      const ChunkSize room = encoder->room_for(rows);
      const WorkspaceBytes bytes = encoder->bytes_of(room);
      if (rows > least && bytes.activations + bytes.products > free / kPartOfMemory) continue;
      try {
        return make_workspace(room);
      } catch (const OutOfMemory&) {
        if (rows <= least) throw;  // not even room for the longest input
      }
    }
  }

  const int device_;
  bool records_ = false;
  ChunkSize first_room_;
  std::mutex mutex_;
  std::condition_variable_any returned_;
  std::vector<std::unique_ptr<Workspace>> free_;
  std::size_t made_ = 0, most_ = kMaxWorkspaces;
};

/// A workspace until the end of a scope, given back when nothing runs in it any more.
class Gpu::Borrowed final : public BorrowedWorkspace {
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

  Workspace& operator*() const override { return *workspace_; }
  void enlarge(const ChunkSize& chunk) override { state_.enlarge(workspace_, chunk); }

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
      weights_.bytes->forget(device_);
      forget(now);
    }
    throw;
  }
}

void Gpu::describe(BackendInfo& info) {
  return on_device([&](State& on) {
    info.products = on.encoder->algorithms();
    info.launches = on.records() ? fmt::format("recorded up to {} rows", kMostFilledRows) : "one by one";
  });
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
    work(*on.encoder, workspace, cost);
    (*workspace).stream.wait();  // has ended: nothing is left to settle
    return cost;
  });
}

DeviceCost Gpu::score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop) {
  return serve(stop, [&](const Encoder& encoder, Borrowed& workspace, DeviceCost& cost) {
    encoder.score(batch, logits, workspace, stop, cost);
  });
}

DeviceCost Gpu::encode(std::span<const relucent::Segment> texts, std::span<float> states, const StopSignal& stop) {
  return serve(stop, [&](const Encoder& encoder, Borrowed& workspace, DeviceCost& cost) {
    encoder.encode(texts, states, workspace, stop, cost);
  });
}

HiddenStates Gpu::hidden_states(const ScoringBatch& batch) {
  return on_device([&](State& on) {
    Borrowed workspace(on, {});
    return on.encoder->hidden_states(batch, *workspace);
  });
}

}  // namespace relucent::cuda
