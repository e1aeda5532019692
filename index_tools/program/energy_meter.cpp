#include "index_tools/program/energy_meter.h"

#include <chrono>
#include <fstream>
#include <optional>
#include <system_error>

namespace relucent::program {
namespace {

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::uint64_t number = 0;
  if (!(stream >> number)) return std::nullopt;
  return number;
}

std::string kind_of(const std::filesystem::path& domain) {
  std::ifstream stream(domain / "name");
  std::string name;
  stream >> name;
  if (name.starts_with("package")) return "package";
  return name == "dram" ? name : "";
}

}  // namespace

EnergyMeter::EnergyMeter(const std::filesystem::path& powercap) {
  std::error_code problem;
  // One folder per domain: intel-rapl:0 a package, intel-rapl:0:1 a part of it. intel-rapl-mmio counts the same again.
  for (std::filesystem::directory_iterator folder(powercap, problem), end; !problem && folder != end;
       folder.increment(problem)) {
    const std::filesystem::path path = folder->path();
    if (!path.filename().string().starts_with("intel-rapl:")) continue;
    const std::string kind = kind_of(path);
    const auto now = number_in(path / "energy_uj"), range = number_in(path / "max_energy_range_uj");
    if (!kind.empty() && now && range) domains_.push_back({kind, path / "energy_uj", *range, *now});
  }
  if (!domains_.empty()) reader_ = std::jthread([this](const std::stop_token& stop) { read_now_and_then(stop); });
}

EnergyMeter::~EnergyMeter() = default;

std::map<std::string, double> EnergyMeter::joules() {
  const std::lock_guard lock(mutex_);
  read();
  std::map<std::string, double> sums;
  for (const Domain& domain : domains_) sums[domain.kind] += static_cast<double>(domain.microjoules) / 1e6;
  return sums;
}

void EnergyMeter::read() {
  for (Domain& domain : domains_) {
    const auto now = number_in(domain.counter);
    if (!now) continue;
    domain.microjoules += *now >= domain.last ? *now - domain.last : domain.range - domain.last + *now;
    domain.last = *now;
  }
}

void EnergyMeter::read_now_and_then(const std::stop_token& stop) {
  constexpr std::chrono::seconds kInterval{10};
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    stopped_.wait_for(lock, stop, kInterval, [] { return false; });
    read();
  }
}

}  // namespace relucent::program
