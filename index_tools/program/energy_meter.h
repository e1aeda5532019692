#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace relucent::program {

/// What the processor's counters of energy (RAPL) measure from construction on: of the whole machine, not of this
/// process. Linux lets only root read them unless told otherwise.
class EnergyMeter {
 public:
  explicit EnergyMeter(const std::filesystem::path& powercap = "/sys/class/powercap");
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  /// Joules by kind of domain: "package" (the processors' sum), "dram". Kinds that cannot be read are absent.
  std::map<std::string, double> joules();

 private:
  struct Domain {
    std::string kind;
    std::filesystem::path counter;
    std::uint64_t range;  ///< at which the counter starts again
    std::uint64_t last;
    std::uint64_t microjoules = 0;
  };
  void read();
  void read_now_and_then(const std::stop_token& stop);

  std::mutex mutex_;
  std::vector<Domain> domains_;
  std::condition_variable_any stopped_;
  std::jthread reader_;  ///< counters start again after minutes
};

}  // namespace relucent::program
