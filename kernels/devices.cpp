#include "relucent/kernels/devices.h"

#include <fmt/core.h>

#include "base/thread_pool.h"
#include "kernels/cpu/vector_kernels.h"
#include "kernels/cuda_module.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr const char* kDocumentation = "see docs/installation.md, \"GPU\"";

void add_gpus(std::vector<DeviceSummary>& all) {
  try {
    const auto gpus = cuda::devices(true);
    if (gpus.empty()) {
      all.push_back({"cuda", "", "the driver sees no GPU",
                     "check that nvidia-smi lists one and CUDA_VISIBLE_DEVICES hides none"});
    }
    for (const auto& gpu : gpus) {
      all.push_back({fmt::format("cuda:{}", gpu.index), cuda::describe(gpu), gpu.problem,
                     gpu.problem.empty() ? "" : kDocumentation});
    }
  } catch (const Error& error) {
    all.push_back({"cuda", "", fmt::format("{}: {}", error.place(), error.problem()), error.remedy()});
  }
}

}  // namespace

std::vector<DeviceSummary> list_devices() {
  const int threads = available_cores();
  std::vector<DeviceSummary> all;
  std::string description =
      fmt::format("{}, {} {}", cpu::best_vector_kernels().name, threads, threads == 1 ? "thread" : "threads");
  const cpu::VectorLevels levels = cpu::available_vector_kernels();
  for (std::size_t i = 0; i < levels.refused_count; ++i) {
    description += fmt::format("; {} is disabled: it computes wrong products", levels.refused[i]->name);
  }
  all.push_back({"cpu", description, "", ""});
  add_gpus(all);
  return all;
}

}  // namespace relucent
