#pragma once

#include <cstddef>

namespace relucent::testing {

/// Bytes that malloc has given and not taken back, in the whole program.
std::size_t allocated_bytes() noexcept;
/// The most since restart_peak().
std::size_t allocated_peak() noexcept;
void restart_peak() noexcept;

}  // namespace relucent::testing
