// malloc() and its relatives as a program may replace them, in the whole process (LD_PRELOAD). They fill a block with a
// pattern when they allocate it, and with another one when they free it. A block that another allocator made, that is
// freed twice, or behind whose end something was written ends the process.
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);
}

namespace {

constexpr std::uint64_t kLive = 0x52656c7563656e74, kFreed = 0x46726565642e2e2e, kEnd = 0x456e64456e64456e;
constexpr int kFresh = 0xA5, kDead = 0x5A;
constexpr std::size_t kMinAlignment = 16;

/// Lies in front of what the caller gets.
struct Header {
  void* begin;
  std::size_t size;
  std::uint64_t state;
  std::uint64_t padding;
};

[[noreturn]] void end_process(const char* problem) {
  (void)!::write(STDERR_FILENO, problem, std::strlen(problem));
  std::abort();
}

Header* header_of(void* block) { return static_cast<Header*>(block) - 1; }

void* allocate(std::size_t alignment, std::size_t size) {
  if (alignment < kMinAlignment) alignment = kMinAlignment;
  const std::size_t front = (sizeof(Header) + alignment - 1) / alignment * alignment;
  if (size > SIZE_MAX / 2 || front > SIZE_MAX / 4) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const begin = __libc_memalign(alignment, front + size + sizeof(kEnd));
  if (begin == nullptr) return nullptr;
  char* const block = static_cast<char*>(begin) + front;
  *header_of(block) = {begin, size, kLive, 0};
  std::memset(block, kFresh, size);
  std::memcpy(block + size, &kEnd, sizeof(kEnd));
  return block;
}

void check(void* block) {
  const Header& header = *header_of(block);
  if (header.state == kFreed) end_process("checked_malloc: a block is freed twice\n");
  if (header.state != kLive) end_process("checked_malloc: a block of another allocator\n");
  if (std::memcmp(static_cast<char*>(block) + header.size, &kEnd, sizeof(kEnd)) != 0) {
    end_process("checked_malloc: something was written behind a block\n");
  }
}

}  // namespace

#define REPLACES __attribute__((visibility("default")))

extern "C" {

REPLACES void* malloc(std::size_t size) { return allocate(kMinAlignment, size); }

REPLACES void free(void* block) {
  if (block == nullptr) return;
  check(block);
  Header& header = *header_of(block);
  header.state = kFreed;
  std::memset(block, kDead, header.size);
  __libc_free(header.begin);
}

REPLACES void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const block = allocate(kMinAlignment, bytes);
  return block == nullptr ? nullptr : std::memset(block, 0, bytes);
}

REPLACES void* realloc(void* block, std::size_t size) {
  if (block == nullptr) return malloc(size);
  check(block);
  if (size == 0) {
    free(block);
    return nullptr;
  }
  void* const larger = allocate(kMinAlignment, size);
  if (larger == nullptr) return nullptr;
  const std::size_t old = header_of(block)->size;
  std::memcpy(larger, block, old < size ? old : size);
  free(block);
  return larger;
}

REPLACES void* memalign(std::size_t alignment, std::size_t size) { return allocate(alignment, size); }
REPLACES void* aligned_alloc(std::size_t alignment, std::size_t size) { return allocate(alignment, size); }
REPLACES void* valloc(std::size_t size) { return allocate(4096, size); }

REPLACES int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  const int before = errno;
  void* const made = allocate(alignment, size);
  errno = before;
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

REPLACES std::size_t malloc_usable_size(void* block) {
  if (block == nullptr) return 0;
  check(block);
  return header_of(block)->size;
}

}  // extern "C"
