#include "kernels/cpu/score.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/cpu/schedule.h"

namespace relucent::cpu {
namespace {

// Longest first, so that no worker finishes last with a long document.
std::vector<std::size_t> longest_first(const PairBatch& batch) {
  std::vector<std::size_t> order(batch.documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return batch.documents[a].tokens() > batch.documents[b].tokens();
  });
  return order;
}

}  // namespace

void score(const Encoder& encoder, const PairBatch& batch, const Workers& workers, Workspace& group_memory,
           std::span<float> logits, const StopSignal& stop) {
  if (batch.documents.empty()) return;
  Team everybody{group_memory, workers.count, workers.run};
  std::optional<QueryStates> shared;
  if (encoder.shares_query()) shared = encoder.encode_query(batch.query, everybody, stop);

  const QueryStates* const of_query = shared ? &*shared : nullptr;

  const std::vector<std::size_t> order = longest_first(batch);
  std::vector<std::size_t> tokens;
  std::vector<Candidate> candidates;
  for (const std::size_t i : order) {
    candidates.push_back({batch.documents[i], batch.globals[i]});
    tokens.push_back(encoder.tokens(batch.query.tokens(), batch.documents[i].tokens()));
  }
  std::vector<float> in_order(order.size());
  Encoded& encoded = group_memory.encoded;
  for (std::size_t begin = 0; begin < order.size();) {
    const std::size_t count = std::min(order.size() - begin, encoder.most_encoded());
    encoder.prepare(encoded, count);
    const std::span<const Candidate> some = std::span(candidates).subspan(begin, count);
    const Schedule plan = schedule(std::span(tokens).subspan(begin, count), workers.count, encoder.group_tokens());
    const auto encode = [&](const Schedule::Run& run, Team& team) {
      encoder.encode(batch.cls, batch.query, some.subspan(run.first, run.count), of_query, encoded, run.first, team,
                     stop);
    };
    if (plan.together) {
      for (const Schedule::Run& run : plan.groups) encode(run, everybody);
    } else {
      workers.run(plan.groups.size(), [&](std::size_t index, Workspace& own) {
        Team alone = Team::alone(own);
        encode(plan.groups[index], alone);
      });
    }
    // All candidates together: each worker reads the last block's weights, or the decoder's, once.
    const std::size_t share = (count + workers.count - 1) / workers.count;
    workers.run((count + share - 1) / share, [&](std::size_t index, Workspace& own) {
      const std::size_t first = index * share, own_count = std::min(share, count - first);
      encoder.finish(batch.cls, encoded, first, of_query, {in_order.data() + begin + first, own_count}, own);
    });
    begin += count;
  }
  for (std::size_t i = 0; i < order.size(); ++i) logits[order[i]] = in_order[i];
}

}  // namespace relucent::cpu
