#pragma once

#include <string>
#include <vector>

#include "relucent/export.h"

namespace relucent {

/// A device a model can run on, or the reason why it cannot.
struct DeviceSummary {
  std::string name;         ///< a value for BackendOptions::device: "cpu", "cuda:0"; "cuda" if no GPU is visible at all
  std::string description;  ///< "amx, 2 threads"; "NVIDIA H100 80GB HBM3, compute capability 9.0, 85 GB (84 GB free)"
  std::string problem;      ///< why the device is not usable; empty if it is
  std::string remedy;       ///< how to fix the problem, if known

  bool usable() const noexcept { return problem.empty(); }
};

/// The CPU and every GPU, usable or not. A missing module, driver or GPU is reported as an entry, not as an error.
RELUCENT_API std::vector<DeviceSummary> list_devices();

}  // namespace relucent
