#include <algorithm>

#include "config/schema.h"

namespace relucent::config {
namespace {

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each once.
std::size_t edits(std::string_view a, std::string_view b) {
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

std::string nearest(std::string_view wrong, const std::vector<std::string>& names) {
  if (wrong.size() > 100) return {};
  std::string best;
  // A third of the letters may be wrong, one always.
  std::size_t fewest = std::max<std::size_t>(1, wrong.size() / 3) + 1;
  for (const auto& name : names) {
    const std::size_t count = edits(wrong, name);
    if (count < fewest) {
      fewest = count;
      best = name;
    }
  }
  return best;
}

}  // namespace relucent::config
