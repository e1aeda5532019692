// Warp and memory instructions.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "tests/cuda_emulator/execution.h"

namespace relucent::emulator {
namespace {

constexpr unsigned kAll = 0xffffffffU;

struct Shuffled {
  ShuffleKind kind;
  std::uint32_t value;
  int operand;
  int width;
  std::uint32_t result;
};

// The lane that is read, after the PTX manual's shfl.sync.
unsigned source_of(const Shuffled& it, unsigned lane) {
  const unsigned segment = static_cast<unsigned>(it.width) - 1;
  const unsigned first = lane & ~segment;
  const unsigned last = lane | segment;
  const auto operand = static_cast<unsigned>(it.operand) & 31U;
  unsigned source = lane;
  switch (it.kind) {
    case ShuffleKind::index: return first | (operand & segment);
    case ShuffleKind::exclusive_or: source = lane ^ operand; break;
    case ShuffleKind::down: source = lane + operand; break;
    case ShuffleKind::up: return lane >= first + operand ? lane - operand : lane;
  }
  return source <= last ? source : lane;
}

struct Voted {
  bool predicate;
  unsigned result;
};

struct Loaded {
  std::uint32_t* to;
  const unsigned char* row;
  int matrices;
  bool transposed;
};

struct Transposed {
  std::uint32_t word, result;
};

struct Multiplied {
  MatrixElement element;
  float* d;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

float to_float(MatrixElement element, std::uint16_t bits) {
  return element == MatrixElement::half ? __half2float({bits}) : __bfloat162float({bits});
}

// A float's mantissa holds every product of two halves or bfloat16s, so contraction would change nothing.
__attribute__((target_clones("default", "arch=x86-64-v3"))) void multiply_add(float (*d)[8], const float (*a)[16],
                                                                              const float (*b)[8]) {
  for (int row = 0; row < 16; ++row) {
    float sums[8];
    for (int column = 0; column < 8; ++column) {
      sums[column] = d[row][column];
    }
    for (int k = 0; k < 16; ++k) {
      for (int column = 0; column < 8; ++column) {
        sums[column] += a[row][k] * b[k][column];
      }
    }
    for (int column = 0; column < 8; ++column) {
      d[row][column] = sums[column];
    }
  }
}

void complete(const AsyncCopy& copy) {
  if (copy.valid) {
    check_read(copy.from, 16, 16);
  }
  const SharedMemory& shared = the_shared_memory();
  std::memset(shared.shadow.states + (reinterpret_cast<std::uintptr_t>(copy.to) - shared.base), never_written, 16);
  check_write(copy.to, 16, 16);
  if (copy.valid) {
    std::memcpy(copy.to, copy.from, 16);
  } else {
    std::memset(copy.to, 0, 16);
  }
}

}  // namespace

std::uint32_t shuffle(ShuffleKind kind, unsigned mask, std::uint32_t value, int operand, int width) {
  Execution& execution = the_execution();
  Shuffled mine{kind, value, operand, width, value};
  execution.meet(Wait::shuffle, mask, &mine, [&](unsigned lanes) {
    const Thread* const threads = &execution.lane(0);
    const bool valid_width = width <= 32 && std::has_single_bit(static_cast<unsigned>(width));
    for (unsigned i = 0; i < kWarp; ++i) {
      if ((lanes >> i & 1) == 0) {
        continue;
      }
      auto& it = *static_cast<Shuffled*>(threads[i].arguments);
      if (it.kind != kind || it.width != width || !valid_width) {
        execution.fail(Fault::divergence, "lanes bring different shuffles, or a width that is not a power of two");
      }
      const unsigned source = source_of(it, i);
      if ((lanes >> source & 1) == 0) {
        execution.fail(Fault::divergence,
                       "a shuffle reads lane " + std::to_string(source) + ", which takes no part in it");
      }
      it.result = static_cast<const Shuffled*>(threads[source].arguments)->value;
    }
  });
  return mine.result;
}

unsigned ballot(unsigned mask, bool predicate) {
  Execution& execution = the_execution();
  Voted mine{predicate, 0};
  execution.meet(Wait::vote, mask, &mine, [&](unsigned lanes) {
    unsigned result = 0;
    for (unsigned i = 0; i < kWarp; ++i) {
      if ((lanes >> i & 1) != 0 && static_cast<const Voted*>(execution.lane(i).arguments)->predicate) {
        result |= 1U << i;
      }
    }
    for (unsigned i = 0; i < kWarp; ++i) {
      if ((lanes >> i & 1) != 0) {
        static_cast<Voted*>(execution.lane(i).arguments)->result = result;
      }
    }
  });
  return mine.result;
}

void load_matrices(std::uint32_t* to, const void* row, int matrices, bool transposed) {
  Execution& execution = the_execution();
  Loaded mine{to, static_cast<const unsigned char*>(row), matrices, transposed};
  // The lanes that give addresses: 8 per matrix.
  if (running->lane() < static_cast<unsigned>(matrices) * 8) {
    if (!in_shared_memory(row)) {
      execution.fail(Fault::out_of_bounds, "ldmatrix from an address that is not in shared memory");
    }
    check_read(row, 16, 16);
  }
  execution.meet(Wait::load_matrices, kAll, &mine, [&](unsigned) {
    for (unsigned i = 0; i < kWarp; ++i) {
      const auto& it = *static_cast<const Loaded*>(execution.lane(i).arguments);
      if (it.matrices != matrices || it.transposed != transposed) {
        execution.fail(Fault::divergence, "lanes bring different forms of ldmatrix");
      }
    }
    for (int matrix = 0; matrix < matrices; ++matrix) {
      std::uint16_t elements[8][8];
      for (unsigned i = 0; i < 8; ++i) {
        const Thread& giver = execution.lane(static_cast<unsigned>(matrix) * 8 + i);
        std::memcpy(elements[i], static_cast<const Loaded*>(giver.arguments)->row, 16);
      }
      for (unsigned i = 0; i < kWarp; ++i) {
        const unsigned group = i / 4;
        const unsigned pair = i % 4 * 2;
        const std::uint32_t low = transposed ? elements[pair][group] : elements[group][pair];
        const std::uint32_t high = transposed ? elements[pair + 1][group] : elements[group][pair + 1];
        static_cast<const Loaded*>(execution.lane(i).arguments)->to[matrix] = low | high << 16;
      }
    }
  });
}

std::uint32_t transposed(std::uint32_t word) {
  Execution& execution = the_execution();
  Transposed mine{word, 0};
  execution.meet(Wait::transpose, kAll, &mine, [&](unsigned) {
    std::uint16_t elements[8][8];
    for (unsigned i = 0; i < kWarp; ++i) {
      const std::uint32_t of_lane = static_cast<const Transposed*>(execution.lane(i).arguments)->word;
      elements[i / 4][i % 4 * 2] = static_cast<std::uint16_t>(of_lane);
      elements[i / 4][i % 4 * 2 + 1] = static_cast<std::uint16_t>(of_lane >> 16);
    }
    for (unsigned i = 0; i < kWarp; ++i) {
      const std::uint32_t low = elements[i % 4 * 2][i / 4], high = elements[i % 4 * 2 + 1][i / 4];
      static_cast<Transposed*>(execution.lane(i).arguments)->result = low | high << 16;
    }
  });
  return mine.result;
}

void mma_m16n8k16(MatrixElement element, float* d, const std::uint32_t* a, const std::uint32_t* b) {
  Execution& execution = the_execution();
  Multiplied mine{element, d, a, b};
  execution.meet(Wait::mma, kAll, &mine, [&](unsigned) {
    alignas(32) float left[16][16];
    alignas(32) float right[16][8];
    alignas(32) float sums[16][8];
    for (unsigned i = 0; i < kWarp; ++i) {
      const auto& it = *static_cast<const Multiplied*>(execution.lane(i).arguments);
      if (it.element != element) {
        execution.fail(Fault::divergence, "lanes bring mma of different types");
      }
      const unsigned group = i / 4;
      const unsigned pair = i % 4 * 2;
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned shift = 16 * half;
        for (unsigned r = 0; r < 4; ++r) {
          left[group + r % 2 * 8][pair + r / 2 * 8 + half] = to_float(element, std::uint16_t(it.a[r] >> shift));
        }
        for (unsigned r = 0; r < 2; ++r) {
          right[pair + r * 8 + half][group] = to_float(element, std::uint16_t(it.b[r] >> shift));
        }
        for (unsigned r = 0; r < 2; ++r) {
          sums[group + r * 8][pair + half] = it.d[2 * r + half];
        }
      }
    }
    multiply_add(sums, left, right);
    if (execution.counted != nullptr) {
      execution.counted->flops += std::uint64_t{2} * 16 * 8 * 16;
    }
    for (unsigned i = 0; i < kWarp; ++i) {
      float* const to = static_cast<const Multiplied*>(execution.lane(i).arguments)->d;
      for (unsigned r = 0; r < 4; ++r) {
        to[r] = sums[i / 4 + r / 2 * 8][i % 4 * 2 + r % 2];
      }
    }
  });
}

void cp_async_wait(int pending) {
  Thread& self = *running;
  std::size_t done = 0;
  while (done < self.copies.size() && self.copies[done].group + static_cast<unsigned>(pending) < self.open_group) {
    complete(self.copies[done++]);
  }
  self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace relucent::emulator

void __syncwarp(unsigned mask) {
  using namespace relucent::emulator;
  Execution& execution = the_execution();
  execution.meet(Wait::warp_barrier, mask, nullptr, [&](unsigned lanes) {
    const std::uint32_t now = execution.next_stamp();
    for (unsigned i = 0; i < kWarp; ++i) {
      if ((lanes >> i & 1) != 0) {
        execution.lane(i).sync_stamp = now;
        execution.lane(i).sync_mask = lanes;
      }
    }
  });
}

namespace relucent::cuda {

unsigned char* shared_memory() { return reinterpret_cast<unsigned char*>(emulator::the_shared_memory().base); }

void cp_async_16(void* shared, const void* global, bool valid) {
  using namespace emulator;
  Thread& self = *running;
  if (!in_shared_memory(shared)) {
    the_execution().fail(Fault::out_of_bounds, "cp.async to an address that is not in shared memory");
  }
  if (valid && in_shared_memory(global)) {
    the_execution().fail(Fault::out_of_bounds, "cp.async from shared memory");
  }
  if (valid) {
    check_read(global, 16, 16);
  }
  check_write(shared, 16, 16, on_its_way);
  std::memset(shared, 0xcd, 16);
  self.copies.push_back(
      {static_cast<unsigned char*>(shared), static_cast<const unsigned char*>(global), valid, self.open_group});
}

float exp2_of(float x) { return x < -126.0F ? 0.0F : std::exp2(x); }

void cp_async_commit() { ++emulator::running->open_group; }

}  // namespace relucent::cuda
