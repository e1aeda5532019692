// The launches of chunks, recorded as CUDA graphs: one call then starts what otherwise takes a call per kernel. Host
// code.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "kernels/cuda/chunk.h"
#include "kernels/cuda/device.h"

namespace relucent::cuda {

/// Whether launches may be recorded: unless $RELUCENT_CUDA_GRAPHS is "off".
bool graphs_are_allowed();

/// Held while a thread records, and while one asks cublasLt for algorithms: that of CUDA 13.3 refuses to choose any as
/// long as a stream of the process is captured.
std::mutex& recording();

/// Recordings of one encoder's chunks in one set of a workspace's buffers. One thread at a time; nothing that it has
/// started may still be running when it is called again or destroyed.
class LaunchGraphs {
 public:
  /// Whatever determines the parameters of a chunk's launches there.
  struct Key {
    ChunkSize size;
    std::size_t cls_tokens, query_tokens;

    bool operator==(const Key&) const = default;
  };

  LaunchGraphs() = default;
  ~LaunchGraphs();
  LaunchGraphs(const LaunchGraphs&) = delete;
  LaunchGraphs& operator=(const LaunchGraphs&) = delete;

  /// Starts on the stream what `launch` launches there, nothing but kernels. It calls `launch` the first time that it
  /// gets a key, when the driver may have code to load, and the second time to record it. False if CUDA refused the
  /// recording or the graph: then `launch` was called, and callers should do so from then on.
  bool run(Stream& stream, const Key& key, const std::function<void()>& launch);

 private:
  struct Recorded {
    Key key;
    cudaGraphExec_t graph;  // null: it was launched once
    std::uint64_t used;     // when
  };

  Recorded& find_or_add(const Key& key);

  std::vector<Recorded> recorded_;
  std::uint64_t now_ = 0;
};

}  // namespace relucent::cuda
