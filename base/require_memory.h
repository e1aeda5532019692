#pragma once

#include <cstddef>

namespace relucent {

/// Throws std::bad_alloc unless `bytes` can be allocated now, in small blocks. For calls of libraries that crash where
/// an allocation fails. Other threads may take the memory in between, so ask for a multiple of what the call takes.
void require_memory(std::size_t bytes);

/// Belongs at the end of the initialization of a thread_local variable with a destructor: glibc notes the destructor
/// next, and ends the process where it finds no memory for that. Throws std::bad_alloc if there is none.
inline void require_memory_for_thread_local() { require_memory(1); }

}  // namespace relucent
