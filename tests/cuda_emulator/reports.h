/// Collecting what was found, and naming kernels.
#pragma once

#include <string>

#include "tests/cuda_emulator/emulator.h"

namespace relucent::emulator {

void add_report(Report report);

/// The function's name from its file's symbol table, demangled; its address where there is none.
std::string function_name(const void* function);
/// A kernel's name without its namespaces and parameters.
std::string short_name(std::string name);

}  // namespace relucent::emulator
