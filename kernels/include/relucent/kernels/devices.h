#pragma once

#include <string>
#include <vector>

#include "relucent/export.h"

namespace relucent {

/// Something that a model can run on, or why it cannot.
struct DeviceSummary {
  std::string name;  ///< as BackendOptions::device takes it: "cpu", "cuda:0"; "cuda" where no GPU can be seen at all
  std::string description;  ///< "amx, 2 threads"; "NVIDIA H100 80GB HBM3, compute capability 9.0, 85 GB (84 GB free)"
  std::string problem;      ///< why it is not usable; empty where it is
  std::string remedy;       ///< what to do about the problem, where that is known

  bool usable() const noexcept { return problem.empty(); }
};

/// The CPU and every GPU, usable or not. An absent module, driver or GPU is an entry that says so, not an error.
RELUCENT_API std::vector<DeviceSummary> list_devices();

}  // namespace relucent
