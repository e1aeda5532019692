// What the custom mutators of libFuzzer share: half of its changes are theirs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t most);

namespace relucent::fuzz {

/// `Mutator(seed)` has coin(), and change(input), which returns the changed input or nullopt.
template <typename Mutator>
std::size_t mutate_half(std::uint8_t* bytes, std::size_t size, std::size_t most, unsigned seed) {
  Mutator mutator(seed);
  if (mutator.coin()) {
    const auto changed = mutator.change(std::string_view(reinterpret_cast<const char*>(bytes), size));
    if (changed && changed->size() <= most) {
      std::ranges::copy(*changed, bytes);
      return changed->size();
    }
  }
  return LLVMFuzzerMutate(bytes, size, most);
}

}  // namespace relucent::fuzz

#define RELUCENT_FUZZ_MUTATOR(Mutator)                                                                    \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size, std::size_t most, \
                                                 unsigned seed) {                                         \
    return relucent::fuzz::mutate_half<relucent::fuzz::Mutator>(bytes, size, most, seed);                 \
  }
