#include "base/require_memory.h"

#include <array>
#include <memory>

namespace relucent {

void require_memory(std::size_t bytes) {
  struct Block {
    std::unique_ptr<Block> next;
    std::array<char, std::size_t{32} << 10> unused;
  };
  std::unique_ptr<Block> blocks;
  const auto release = [&] {
    while (blocks) blocks = std::move(blocks->next);
  };
  for (std::size_t held = 0; held < bytes; held += sizeof(Block)) {
    std::unique_ptr<Block> block;
    try {
      block.reset(new Block);  // unlike make_unique, leaves the pages untouched
    } catch (...) {
      release();
      throw;
    }
    block->next = std::move(blocks);
    blocks = std::move(block);
  }
  release();
}

}  // namespace relucent
