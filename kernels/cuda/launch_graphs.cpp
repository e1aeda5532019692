#include "kernels/cuda/launch_graphs.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace relucent::cuda {
namespace {

/// The sizes that one set of buffers remembers.
constexpr std::size_t kMostRecorded = 64;

void destroy(cudaGraphExec_t graph) {
  if (graph != nullptr) cudaGraphExecDestroy(graph);
}

/// The launches as a graph; null if CUDA refuses to record them.
cudaGraphExec_t record(cudaStream_t stream, const std::function<void()>& launch) {
  // Calls of other threads, such as an allocation, do not end the recording.
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return nullptr;
  bool good = true;
  try {
    launch();
  } catch (...) {  // which launching without a recording will repeat, unless this was the cause
    good = false;
  }
  cudaGraph_t graph = nullptr;
  good = cudaStreamEndCapture(stream, &graph) == cudaSuccess && good;
  cudaGraphExec_t executable = nullptr;
  if (good && cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess) executable = nullptr;
  if (graph != nullptr) cudaGraphDestroy(graph);
  return executable;
}

}  // namespace

bool graphs_are_allowed() {
  const char* const stated = std::getenv("RELUCENT_CUDA_GRAPHS");
  return stated == nullptr || std::string_view(stated) != "off";
}

std::mutex& recording() {
  static std::mutex mutex;
  return mutex;
}

LaunchGraphs::~LaunchGraphs() {
  for (const Recorded& each : recorded_) destroy(each.graph);
}

LaunchGraphs::Recorded& LaunchGraphs::find_or_add(const Key& key) {
  const auto known = std::ranges::find(recorded_, key, &Recorded::key);
  if (known != recorded_.end()) return *known;
  if (recorded_.size() < kMostRecorded) return recorded_.emplace_back(Recorded{key, nullptr, 0});
  const auto oldest = std::ranges::min_element(recorded_, {}, &Recorded::used);
  destroy(oldest->graph);
  return *oldest = {key, nullptr, 0};
}

bool LaunchGraphs::run(Stream& stream, const Key& key, const std::function<void()>& launch) {
  Recorded& found = find_or_add(key);
  const bool known = found.used > 0;
  found.used = ++now_;
  if (known && found.graph == nullptr) {
    const std::unique_lock alone(recording(), std::try_to_lock);
    if (alone) {
      found.graph = record(stream, launch);
      if (found.graph == nullptr) {
        cudaGetLastError();  // clears the error, so that no other code in this process sees it
        launch();
        return false;
      }
    }
  }
  if (found.graph == nullptr) {
    launch();
    return true;
  }
  if (cudaGraphLaunch(found.graph, stream) == cudaSuccess) return true;
  cudaGetLastError();
  launch();
  return false;
}

}  // namespace relucent::cuda
