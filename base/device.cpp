#include "relucent/device.h"

#include <fmt/core.h>

#include <charconv>
#include <vector>

#include "base/text.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";
constexpr std::size_t kMaxDigits = 3;  // of a GPU's number

std::optional<int> gpu_number(std::string_view digits) noexcept {
  if (digits.empty() || digits.size() > kMaxDigits) return std::nullopt;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace

const char* to_string(Precision precision) noexcept {
  for (const auto& [known, name] : kPrecisionNames) {
    if (known == precision) return name;
  }
  return "?";
}

Precision parse_precision(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [precision, known] : kPrecisionNames) {
    if (name == known) return precision;
    names.emplace_back(known);
  }
  throw Error(ErrorKind::usage, fmt::format("precision {}", name), "is unknown",
              suggest_name(name, names) + "the precisions are auto, fp32, tf32, bf16, fp16, int16 and int8");
}

std::string to_string(const Device& device) {
  switch (device.kind) {
    case Device::Kind::automatic: return "auto";
    case Device::Kind::ref: return "ref";
    case Device::Kind::cpu: return "cpu";
    case Device::Kind::cuda: return device.gpu ? fmt::format("{}{}", kCudaPrefix, *device.gpu) : "cuda";
  }
  return "?";
}

std::optional<Device> device_from(std::string_view name) noexcept {
  if (name == "auto") return Device::automatic();
  if (name == "ref") return Device::ref();
  if (name == "cpu") return Device::cpu();
  if (name == "cuda") return Device::every_gpu();
  if (!name.starts_with(kCudaPrefix)) return std::nullopt;
  const std::optional<int> number = gpu_number(name.substr(kCudaPrefix.size()));
  if (!number) return std::nullopt;
  return Device::cuda(*number);
}

Device parse_device(std::string_view name) {
  if (const auto device = device_from(name)) return *device;
  throw Error(ErrorKind::usage, fmt::format("device {}", name), "is unknown",
              suggest_device(name) + "the devices are auto, ref, cpu, cuda and cuda:N");
}

std::string suggest_device(std::string_view wrong) {
  // By spelling, the closest name would be "cpu".
  if (wrong == "gpu") return suggest_name("cuda", {"cuda"});
  return suggest_name(wrong, {"auto", "ref", "cpu", "cuda"});
}

}  // namespace relucent
