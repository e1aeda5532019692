#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace relucent::testing {

/// Starts this program again under valgrind if nothing else counts instructions here. Returns if that is not needed or
/// not possible.
void count_instructions(char** arguments);

/// The instructions that `work` takes; nullopt if nothing counts them.
std::optional<std::uint64_t> instructions_of(const std::function<void()>& work);

}  // namespace relucent::testing
