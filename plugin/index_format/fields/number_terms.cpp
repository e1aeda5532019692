#include "plugin/index_format/fields/number_terms.h"

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

namespace relucent::fields {
namespace {

constexpr char kShiftStart = 0x20;  // the first character of a term is this plus the shift
constexpr int kBitsPerCharacter = 7;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

}  // namespace

std::optional<double> exact_number(const nlohmann::json& value) {
  // A whole number is compared before it becomes a double, which would round 2^53 + 1 to 2^53.
  constexpr std::int64_t most = std::int64_t{1} << 53;
  if (value.is_number_unsigned()) {
    if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) return std::nullopt;
  } else if (value.is_number_integer()) {
    if (const auto number = value.get<std::int64_t>(); number < -most || number > most) return std::nullopt;
  }
  const auto number = value.get<double>();
  return std::abs(number) <= 0x1p53 ? std::optional(number) : std::nullopt;
}

std::int64_t sortable(double number) noexcept {
  auto bits = std::bit_cast<std::int64_t>(number == 0 ? 0.0 : number);
  if (bits < 0) bits ^= static_cast<std::int64_t>(~kSign);
  return bits;
}

std::string bytes_of_number(double number) {
  const auto bits = static_cast<std::uint64_t>(sortable(number));
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 0xFF);
  return bytes;
}

void each_term(std::string_view number, const std::function<void(std::string_view term)>& use) {
  std::uint64_t bits = 0;
  for (const char byte : number) bits = bits << 8 | static_cast<unsigned char>(byte);
  for (int shift = 0; shift < 64; shift += kPrecisionStep) use(prefix_term(static_cast<std::int64_t>(bits), shift));
}

std::string prefix_term(std::int64_t number, int shift) {
  std::uint64_t bits = (static_cast<std::uint64_t>(number) ^ kSign) >> shift;
  const int characters = (63 - shift) / kBitsPerCharacter + 1;
  std::string term(static_cast<std::size_t>(characters) + 1, '\0');
  term[0] = static_cast<char>(kShiftStart + shift);
  for (auto i = static_cast<std::size_t>(characters); i > 0; --i, bits >>= kBitsPerCharacter) {
    term[i] = static_cast<char>(bits & 0x7F);
  }
  return term;
}

void each_run(std::int64_t low, std::int64_t high,
              const std::function<void(const std::string& first, const std::string& last)>& use) {
  if (low > high) return;
  // Counted from the smallest number, so that they are unsigned.
  std::uint64_t first = static_cast<std::uint64_t>(low) ^ kSign, last = static_cast<std::uint64_t>(high) ^ kSign;
  const auto run = [&](std::uint64_t from, std::uint64_t to, int shift) {
    use(prefix_term(static_cast<std::int64_t>((from << shift) ^ kSign), shift),
        prefix_term(static_cast<std::int64_t>((to << shift) ^ kSign), shift));
  };
  constexpr std::uint64_t in_block = (1U << kPrecisionStep) - 1;
  // At each level the ends that do not fill a block of the next level; `first` and `last` are shifted by `shift`.
  for (int shift = 0;; shift += kPrecisionStep) {
    if (shift + kPrecisionStep >= 64 || first >> kPrecisionStep == last >> kPrecisionStep) {
      return run(first, last, shift);
    }
    if ((first & in_block) != 0) {
      run(first, first | in_block, shift);
      first = (first | in_block) + 1;
    }
    if ((last & in_block) != in_block) {
      run(last & ~in_block, last, shift);
      if ((last & ~in_block) == first) return;  // nothing is left in between
      last = (last & ~in_block) - 1;
    }
    first >>= kPrecisionStep;
    last >>= kPrecisionStep;
  }
}

}  // namespace relucent::fields
