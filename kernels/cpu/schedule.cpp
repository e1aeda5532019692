#include "kernels/cpu/schedule.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

namespace relucent::cpu {
namespace {

// Groups are not made smaller than this to share the work more evenly: they would read the weights too often, with
// vectors half empty.
constexpr std::size_t kFewestTokens = 96;

// Runs of at most `most` tokens, or of one document.
std::vector<Schedule::Run> runs_of(std::span<const std::size_t> tokens, std::size_t most) {
  std::vector<Schedule::Run> runs;
  for (std::size_t first = 0; first < tokens.size();) {
    std::size_t end = first, in_run = 0;
    do {
      in_run += tokens[end++];
    } while (end < tokens.size() && in_run + tokens[end] <= most);
    runs.push_back({first, end - first});
    first = end;
  }
  return runs;
}

// The highest number of tokens per worker when each free worker takes the next run.
std::size_t largest_load(std::span<const std::size_t> tokens, std::span<const Schedule::Run> runs,
                         std::size_t workers) {
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> loads;
  for (std::size_t worker = 0; worker < workers; ++worker) loads.push(0);
  std::size_t largest = 0;
  for (const auto& [first, count] : runs) {
    const auto in_run = tokens.subspan(first, count);
    const std::size_t load = std::accumulate(in_run.begin(), in_run.end(), loads.top());
    loads.pop();
    loads.push(load);
    largest = std::max(largest, load);
  }
  return largest;
}

}  // namespace

Schedule schedule(std::span<const std::size_t> tokens, std::size_t workers, std::size_t most) {
  const std::size_t all = std::accumulate(tokens.begin(), tokens.end(), std::size_t{0});
  const std::size_t share = (all + workers - 1) / workers;
  // Large groups read the weights less often, small ones are shared out more evenly.
  for (std::size_t limit = std::min(most, share); limit > 0; limit /= 2) {
    Schedule own{runs_of(tokens, limit), false};
    if (10 * largest_load(tokens, own.groups, workers) <= 11 * share) return own;
    if (own.groups.size() == tokens.size() || limit / 2 < kFewestTokens) break;
  }
  return {runs_of(tokens, most * workers), true};
}

std::size_t task_size(std::size_t count, std::size_t workers, std::size_t most) {
  std::size_t best = 1, lowest_cost = std::numeric_limits<std::size_t>::max();
  for (std::size_t size = 1; size <= std::min(most, count); ++size) {
    const std::size_t tasks = (count + size - 1) / size, rounds = (tasks + workers - 1) / workers;
    // The last task may be smaller, and be the only one of its round.
    const std::size_t last = tasks % workers == 1 || workers == 1 ? count - (tasks - 1) * size : size;
    const std::size_t cost = 8 * ((rounds - 1) * size + last) + rounds;
    if (cost <= lowest_cost) {
      lowest_cost = cost;
      best = size;
    }
  }
  return best;
}

std::size_t parts_for(std::size_t tasks, std::size_t workers, std::size_t most) {
  std::size_t best = 1;
  double best_share = 0;  // of the workers' time until the last task ends
  for (std::size_t parts = 1; parts <= std::min(most, 4 * workers / tasks + 1); ++parts) {
    const std::size_t all = tasks * parts, rounds = (all + workers - 1) / workers;
    const double share = static_cast<double>(all) / static_cast<double>(rounds * workers);
    if (share > best_share + 1e-9) {
      best_share = share;
      best = parts;
    }
  }
  return best;
}

}  // namespace relucent::cpu
