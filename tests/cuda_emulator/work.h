/// Counting what launches and products do to device memory, and how much they compute; see count_work().
#pragma once

#include <string>

#include "tests/cuda_emulator/emulator.h"

namespace relucent::emulator {

/// Whether work is counted.
bool counts_work();
/// Adds one launch's or product's work to what is known under the name.
void add_work(const std::string& name, const Work& work);
/// At the end of the program, the work goes to this file as a table.
void write_work_to(const std::string& file);

}  // namespace relucent::emulator
