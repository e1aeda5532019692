#include "base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace relucent {
namespace {

constexpr std::size_t kMaxNameLength = 100;  // a longer name is not a typo

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each counted once.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_previous(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text, std::string_view white) noexcept {
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

std::string closest_name(std::string_view wrong, const std::vector<std::string>& names) {
  if (wrong.size() > kMaxNameLength) return {};
  std::string best;
  std::size_t limit = std::max<std::size_t>(1, wrong.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance >= limit) continue;
    limit = distance;
    best = name;
  }
  return best;
}

std::string suggest_name(std::string_view wrong, const std::vector<std::string>& names) {
  const std::string nearest = closest_name(wrong, names);
  return nearest.empty() ? "" : fmt::format("did you mean \"{}\"? ", nearest);
}

std::string escape_xml(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default:
        // XML cannot represent the other control characters.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          result += "\uFFFD";
        } else {
          result += c;
        }
    }
  }
  return result;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"kB", "MB", "GB", "TB"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

}  // namespace relucent
