#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "relucent/export.h"

namespace relucent {

/// The number format of matrix products; sums are fp32 (int16, int8: exact). Only the CUDA backend supports tf32 and
/// fp16, only the CPU backend int16 and int8.
enum class Precision { automatic, fp32, tf32, bf16, fp16, int16, int8 };

/// The precisions' names, as `[rescorer] precision` and `--precision` write them.
inline constexpr std::array<std::pair<Precision, const char*>, 7> kPrecisionNames{{{Precision::automatic, "auto"},
                                                                                   {Precision::fp32, "fp32"},
                                                                                   {Precision::tf32, "tf32"},
                                                                                   {Precision::bf16, "bf16"},
                                                                                   {Precision::fp16, "fp16"},
                                                                                   {Precision::int16, "int16"},
                                                                                   {Precision::int8, "int8"}}};

RELUCENT_API const char* to_string(Precision precision) noexcept;
/// "auto", "fp32", "tf32", "bf16", "fp16", "int16", "int8"; throws Error of kind `usage` for anything else.
RELUCENT_API Precision parse_precision(std::string_view name);

/// Where a model runs, as `[rescorer] device` and `--device` write it: auto | ref | cpu | cuda:N | cuda.
struct Device {
  enum class Kind {
    automatic,  ///< a GPU if one works, otherwise the CPU
    ref,        ///< slow plain code
    cpu,
    cuda,
  };
  Kind kind = Kind::automatic;
  std::optional<int> gpu = {};  ///< of kind `cuda`: the GPU's number; unset: every usable GPU of the first one's kind

  static constexpr Device automatic() { return {}; }
  static constexpr Device ref() { return {Kind::ref}; }
  static constexpr Device cpu() { return {Kind::cpu}; }
  static constexpr Device cuda(int number) { return {Kind::cuda, number}; }
  static constexpr Device every_gpu() { return {Kind::cuda}; }

  friend constexpr bool operator==(const Device&, const Device&) = default;
};

RELUCENT_API std::string to_string(const Device& device);
/// The device of that name; nothing for an unknown one.
RELUCENT_API std::optional<Device> device_from(std::string_view name) noexcept;
/// The same; throws Error of kind `usage` for an unknown name.
RELUCENT_API Device parse_device(std::string_view name);
/// "did you mean \"cuda\"? " for a name that device_from does not know; empty if no device has a similar name.
RELUCENT_API std::string suggest_device(std::string_view wrong);

}  // namespace relucent
