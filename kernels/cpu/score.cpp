#include "kernels/cpu/score.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/cpu/schedule.h"

namespace relucent::cpu {
namespace {

// Longest first, so that no worker finishes last with a long document.
std::vector<std::size_t> longest_first(const ScoringBatch& batch) {
  std::vector<std::size_t> order(batch.documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return batch.documents[a].size() > batch.documents[b].size(); });
  return order;
}

}  // namespace

void score(const Encoder& encoder, const ScoringBatch& batch, const Workers& workers, Workspace& group_memory,
           std::span<float> logits, const StopSignal& stop) {
  if (batch.documents.empty()) return;
  Team everybody{group_memory, workers.count, workers.run};
  std::optional<QueryStates> shared;
  if (encoder.shares_query()) shared = encoder.encode_query(batch.query, everybody, stop);

  const std::vector<std::size_t> order = longest_first(batch);
  std::vector<std::size_t> tokens;
  for (const std::size_t i : order) tokens.push_back(encoder.tokens(batch.query.size(), batch.documents[i].size()));
  const Schedule plan = schedule(tokens, workers.count, encoder.group_tokens());
  std::vector<float> cls(order.size() * 2 * encoder.hidden());  // in `order`
  const auto encode = [&](const Schedule::Run& run, Team& team) {
    std::vector<std::span<const std::int32_t>> documents;
    for (std::size_t i = run.first; i < run.first + run.count; ++i) documents.push_back(batch.documents[order[i]]);
    encoder.encode(batch.cls_id, batch.query, documents, shared ? &*shared : nullptr,
                   cls.data() + run.first * 2 * encoder.hidden(), team, stop);
  };
  if (plan.together) {
    for (const Schedule::Run& run : plan.groups) encode(run, everybody);
  } else {
    workers.run(plan.groups.size(), [&](std::size_t index, Workspace& own) {
      Team alone = Team::alone(own);
      encode(plan.groups[index], alone);
    });
  }
  // All [CLS] tokens together: each worker reads the last block's weights once.
  std::vector<float> in_order(order.size());
  const std::size_t share = (order.size() + workers.count - 1) / workers.count;
  workers.run((order.size() + share - 1) / share, [&](std::size_t index, Workspace& own) {
    const std::size_t first = index * share, count = std::min(share, order.size() - first);
    encoder.finish(cls.data() + first * 2 * encoder.hidden(), {in_order.data() + first, count}, own);
  });
  for (std::size_t i = 0; i < order.size(); ++i) logits[order[i]] = in_order[i];
}

}  // namespace relucent::cpu
