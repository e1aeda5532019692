#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace relucent::cpu {

/// How a batch's documents are shared among workers. Results never depend on it.
struct Schedule {
  /// Consecutive runs of the documents: first and count.
  struct Run {
    std::size_t first, count;
  };
  std::vector<Run> groups;
  /// Whether all workers compute each group together, rather than each worker a group of its own.
  bool together = false;
};

/// @param tokens   of each document, the longest first
/// @param workers  at least 1
/// @param most     tokens that a worker's own group should have at most; a longer document is a group by itself
/// Groups of their own need no waiting for each other, so they are chosen as long as they keep all workers busy: no
/// worker has more than a tenth above its share.
Schedule schedule(std::span<const std::size_t> tokens, std::size_t workers, std::size_t most);

/// The size of a task, at most `most`, with which `workers` who take one task at a time finish `count` items the
/// soonest; of several such sizes the largest. Beginning a task counts as an eighth of an item.
std::size_t task_size(std::size_t count, std::size_t workers, std::size_t most);

/// Into how many parts, at most `most`, to divide what consists of `tasks` tasks per part, so that few workers wait for
/// the others at the end: the smallest such number, about four tasks per worker or fewer.
std::size_t parts_for(std::size_t tasks, std::size_t workers, std::size_t most);

}  // namespace relucent::cpu
