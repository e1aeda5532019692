#pragma once

#include <vector>

#include "kernels/cuda/element.h"
#include "kernels/cuda_interface.h"

namespace relucent::cuda {

/// What a precision multiplies.
Element element_of(Precision precision);

/// Module::devices.
std::vector<DeviceInfo> devices(bool free_memory);

/// Module::measure_peak.
double measure_peak(int device, Precision precision);

}  // namespace relucent::cuda
