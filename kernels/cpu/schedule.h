#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace relucent::cpu {

/// How the workers share a batch's documents. Results never depend on it.
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
/// Workers with groups of their own never wait for each other. They get such groups if no worker's load exceeds the
/// mean by more than a tenth.
Schedule schedule(std::span<const std::size_t> tokens, std::size_t workers, std::size_t most);

/// The task size, at most `most`, with which `workers` finish `count` items soonest if each takes one task at a time;
/// the largest of several such sizes. Starting a task costs as much as an eighth of an item.
std::size_t task_size(std::size_t count, std::size_t workers, std::size_t most);

/// The number of parts, at most `most`, of work that has `tasks` tasks per part: the smallest number that keeps the
/// workers busiest until the last task ends, up to about four tasks per worker.
std::size_t parts_for(std::size_t tasks, std::size_t workers, std::size_t most);

}  // namespace relucent::cpu
