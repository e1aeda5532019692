// Energy from counters like those of Linux, in a folder of their own.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "index_tools/program/energy_meter.h"
#include "tests/support/temporary_folder.h"

namespace relucent::program {
namespace {

constexpr std::uint64_t kRange = 1'000'000'000;  // microjoules

void write(const std::filesystem::path& folder, const std::string& name, std::uint64_t microjoules) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "name") << name << "\n";
  std::ofstream(folder / "energy_uj") << microjoules << "\n";
  std::ofstream(folder / "max_energy_range_uj") << kRange << "\n";
}

TEST(EnergyMeter, AddsUpPackagesAndMemorySinceItsConstruction) {
  const testing::TemporaryFolder powercap;
  write(powercap / "intel-rapl:0", "package-0", 5'000'000);
  write(powercap / "intel-rapl:1", "package-1", kRange - 1'000'000);
  write(powercap / "intel-rapl:0:0", "core", 77);
  write(powercap / "intel-rapl:0:1", "dram", 0);
  write(powercap / "intel-rapl-mmio:0", "package-0", 5'000'000);
  EnergyMeter meter(powercap.path());
  EXPECT_EQ(meter.joules(), (std::map<std::string, double>{{"package", 0}, {"dram", 0}}));
  write(powercap / "intel-rapl:0", "package-0", 7'500'000);
  write(powercap / "intel-rapl:1", "package-1", 2'000'000);  // began again
  write(powercap / "intel-rapl:0:1", "dram", 250'000);
  EXPECT_EQ(meter.joules(), (std::map<std::string, double>{{"package", 5.5}, {"dram", 0.25}}));
}

TEST(EnergyMeter, MeasuresNothingWithoutReadableCounters) {
  const testing::TemporaryFolder powercap;
  EXPECT_TRUE(EnergyMeter(powercap / "absent").joules().empty());
  std::filesystem::create_directories(powercap / "intel-rapl:0");
  std::ofstream(powercap / "intel-rapl:0" / "name") << "package-0\n";
  EXPECT_TRUE(EnergyMeter(powercap.path()).joules().empty());
}

}  // namespace
}  // namespace relucent::program
