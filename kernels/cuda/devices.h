#pragma once

#include <vector>

#include "module.h"

namespace relucent::cuda {

/// Module::devices.
std::vector<DeviceInfo> devices();

/// The same without free_bytes, and without using any of the devices: even a look at its memory takes some of it.
std::vector<DeviceInfo> described_devices();

/// Module::measure_peak.
double measure_peak(int device, Precision precision);

}  // namespace relucent::cuda
