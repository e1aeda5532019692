#include "relucent/threads.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace relucent {
namespace {

namespace fs = std::filesystem;

int cores_of_affinity() {
  // The set must have room for every processor known to the kernel, at most 8,192 today.
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    std::vector<cpu_set_t> affinity(sets);
    if (::sched_getaffinity(0, sets * sizeof(cpu_set_t), affinity.data()) == 0) {
      return CPU_COUNT_S(sets * sizeof(cpu_set_t), affinity.data());
    }
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// The cores that a control group may use; 0 if there is no limit or it cannot be read.
double quota_of(const fs::path& group) {
  std::string quota;
  double period = 0;
  if (std::ifstream(group / "cpu.max") >> quota >> period) {          // version 2
    const double microseconds = std::strtod(quota.c_str(), nullptr);  // 0 for "max"
    return period > 0 ? microseconds / period : 0;
  }
  double microseconds = 0;  // version 1; -1 for no limit
  if (std::ifstream(group / "cpu.cfs_quota_us") >> microseconds &&
      std::ifstream(group / "cpu.cfs_period_us") >> period) {
    return microseconds > 0 && period > 0 ? microseconds / period : 0;
  }
  return 0;
}

/// The smallest quota of the process's groups and all their ancestors.
double least_quota() {
  double least = 0;
  const auto look_at = [&](const fs::path& group) {
    const double quota = quota_of(group);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:/PATH
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && fmt::format(",{},", controllers).find(",cpu,") == std::string::npos) continue;
    // In a container the path may be the host's; then only the root is visible here.
    const fs::path root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    fs::path path = fs::path(line.substr(second + 1)).relative_path();
    for (; !path.empty(); path = path.parent_path()) look_at(root / path);
    look_at(root);
  }
  look_at("/sys/fs/cgroup");
  return least;
}

}  // namespace

int available_cores() {
  int cores = cores_of_affinity();
  if (const double quota = least_quota(); quota > 0) cores = std::min(cores, static_cast<int>(std::ceil(quota)));
  return std::max(cores, 1);
}

}  // namespace relucent
