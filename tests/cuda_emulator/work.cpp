#include "tests/cuda_emulator/work.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace relucent::emulator {
namespace {

struct Counted {
  std::atomic<bool> on = false;
  std::mutex mutex;
  std::map<std::string, Work> work;
  std::string file;
};

Counted& counted() {
  static Counted& all = *new Counted;  // never destroyed: it is written when the program ends
  return all;
}

void write_table() {
  std::FILE* const file = std::fopen(counted().file.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "CUDA emulator: %s cannot be written\n", counted().file.c_str());
    return;
  }
  std::fprintf(file, "launches\tMB read\tMB written\tonce read\tonce written\tGFLOP\tof one launch of\n");
  for (const auto& [name, all] : work()) {
    const auto each = [&, launches = static_cast<double>(all.launches)](std::uint64_t of_all, double unit) {
      return static_cast<double>(of_all) / launches / unit;
    };
    std::fprintf(file, "%llu\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%s\n", static_cast<unsigned long long>(all.launches),
                 each(all.read, 1e6), each(all.written, 1e6), each(all.read_once, 1e6), each(all.written_once, 1e6),
                 each(all.flops, 1e9), name.c_str());
  }
  std::fclose(file);
}

}  // namespace

bool counts_work() { return counted().on; }

void add_work(const std::string& name, const Work& work) {
  const std::lock_guard lock(counted().mutex);
  Work& all = counted().work[name];
  all.launches += work.launches;
  all.read += work.read;
  all.written += work.written;
  all.read_once += work.read_once;
  all.written_once += work.written_once;
  all.flops += work.flops;
}

void write_work_to(const std::string& file) {
  counted().file = file;
  counted().on = true;
  std::atexit(write_table);
}

void count_work(bool on) {
  const std::lock_guard lock(counted().mutex);
  counted().on = on;
  if (on) {
    counted().work.clear();
  }
}

std::map<std::string, Work> work() {
  const std::lock_guard lock(counted().mutex);
  return counted().work;
}

}  // namespace relucent::emulator
