// The memory of a search on one device. Host code.
#pragma once

#include <array>

#include "kernels/cuda/chunk.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch_graphs.h"

namespace relucent::cuda {

/// The bytes of a workspace.
struct WorkspaceBytes {
  std::size_t activations, products;    ///< on the device; products: MatmulLibrary::workspace_bytes()
  std::size_t tables, states, results;  ///< of a chunk; states and results are in pinned memory
};

/// What belongs to one chunk from its start to its end: its tables, its results, its clock, and recordings of its
/// launches.
struct ChunkBuffers {
  ChunkBuffers(int device, const WorkspaceBytes& bytes)
      : tables_on_host(device, bytes.tables),
        tables(device, bytes.tables, "tables of a batch"),
        states(device, bytes.states),
        results(device, bytes.results),
        clock(device) {}

  PinnedMemory tables_on_host;
  DeviceMemory tables;
  PinnedMemory states;   ///< of an interaction: elements [candidates * (1 + context), hidden]
  PinnedMemory results;  ///< fp32 logits, or elements [texts, context, hidden]
  Clock clock;
  LaunchGraphs graphs;
};

/// Memory for the chunks of one search, and the stream they run on, one after another. There are two sets of buffers:
/// the host writes a chunk's tables while the device computes the chunk before. One thread at a time.
struct Workspace {
  /// With room for chunks up to `room`, which takes `bytes`.
  Workspace(int device, const ChunkSize& chunk_room, const WorkspaceBytes& bytes)
      : room(chunk_room),
        stream(device),
        activations(device, bytes.activations, "activations"),
        products(device, bytes.products, "products"),
        buffers{{{device, bytes}, {device, bytes}}} {}

  const ChunkSize room;
  Stream stream;
  DeviceMemory activations, products;
  std::array<ChunkBuffers, 2> buffers;
  std::size_t turn = 0;  ///< the buffers of the chunk to be started
  bool records = false;  ///< whether the launches of small chunks are recorded

  ChunkBuffers& now() noexcept { return buffers[turn]; }
};

/// A workspace for the caller's exclusive use.
class BorrowedWorkspace {
 public:
  virtual Workspace& operator*() const = 0;
  /// Makes it fit for a chunk that cannot be split. Throws OutOfMemory.
  virtual void enlarge(const ChunkSize& chunk) = 0;

 protected:
  ~BorrowedWorkspace() = default;
};

}  // namespace relucent::cuda
