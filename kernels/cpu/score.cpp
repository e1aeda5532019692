#include "kernels/cpu/score.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/schedule.h"

namespace relucent::cpu {
namespace {

// Longest first, so that no worker finishes last with a long document.
template <typename TokensOf>
std::vector<std::size_t> longest_first(std::size_t count, const TokensOf& tokens_of) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tokens_of(a) > tokens_of(b); });
  return order;
}

// Calls encode(run, team) for runs of documents with these numbers of tokens; a team is one worker or all of them.
template <typename Encode>
void share_documents(std::span<const std::size_t> tokens, std::size_t most, const Workers& workers, Team& everybody,
                     const Encode& encode) {
  const Schedule plan = schedule(tokens, workers.count, most);
  if (plan.together) {
    for (const Schedule::Run& run : plan.groups) encode(run, everybody);
    return;
  }
  workers.run(plan.groups.size(), [&](std::size_t index, Workspace& own) {
    Team alone = Team::alone(own);
    encode(plan.groups[index], alone);
  });
}

}  // namespace

void score(const Encoder& encoder, const PairBatch& batch, const Workers& workers, Workspace& group_memory,
           std::span<float> logits, const StopSignal& stop) {
  if (batch.documents.empty()) return;
  Team everybody{group_memory, workers.count, workers.run};
  std::optional<QueryStates> shared;
  if (encoder.shares_query()) shared = encoder.encode_query(batch.query, everybody, stop);

  const QueryStates* const of_query = shared ? &*shared : nullptr;

  const std::vector<std::size_t> order =
      longest_first(batch.documents.size(), [&](std::size_t i) { return batch.documents[i].tokens(); });
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
    share_documents(std::span(tokens).subspan(begin, count), encoder.group_tokens(), workers, everybody,
                    [&](const Schedule::Run& run, Team& team) {
                      encoder.encode(batch.cls, batch.query, some.subspan(run.first, run.count), of_query, encoded,
                                     run.first, team, stop);
                    });
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

void encode(const Encoder& encoder, std::span<const Segment> texts, const Workers& workers, Workspace& group_memory,
            std::span<float> contexts, const StopSignal& stop) {
  if (texts.empty()) return;
  Team everybody{group_memory, workers.count, workers.run};
  const std::vector<std::size_t> order = longest_first(texts.size(), [&](std::size_t i) { return texts[i].tokens(); });
  std::vector<std::size_t> tokens;
  std::vector<Candidate> candidates;
  for (const std::size_t i : order) {
    candidates.push_back({texts[i]});
    tokens.push_back(texts[i].tokens());
  }
  // Texts have neither [CLS] nor a query; what stands for them is not read.
  const Segment& none = texts.front();
  Encoded& encoded = group_memory.encoded;
  encoder.prepare(encoded, order.size());
  share_documents(tokens, encoder.group_tokens(), workers, everybody, [&](const Schedule::Run& run, Team& team) {
    encoder.encode(none, none, std::span(candidates).subspan(run.first, run.count), nullptr, encoded, run.first, team,
                   stop);
  });
  const std::size_t size = encoder.context_size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::copy_n(encoded.cls.data() + i * size, size, contexts.data() + order[i] * size);
  }
}

void score(const Encoder& encoder, const InteractionBatch& batch, const Workers& workers, Workspace& group_memory,
           std::span<float> logits, const StopSignal& stop) {
  if (batch.candidates.empty()) return;
  std::vector<Segment> texts;
  for (const Segment& candidate : batch.candidates) {
    if (candidate.states.empty()) texts.push_back(candidate);
  }
  const std::size_t size = encoder.context_size();
  std::vector<float> encoded(texts.size() * size);
  encode(encoder, texts, workers, group_memory, encoded, stop);
  std::vector<const float*> contexts;
  const float* next = encoded.data();
  for (const Segment& candidate : batch.candidates) {
    contexts.push_back(candidate.states.empty() ? std::exchange(next, next + size) : candidate.states.data());
  }
  Team everybody{group_memory, workers.count, workers.run};
  const QueryStates query = encoder.encode_query(batch.query, everybody, stop);
  const std::size_t together = encoder.candidates_together(logits.size(), workers.count);
  workers.run((logits.size() + together - 1) / together, [&](std::size_t index, Workspace& own) {
    const std::size_t first = index * together, count = std::min(together, logits.size() - first);
    encoder.interact(query, std::span(contexts).subspan(first, count), logits.subspan(first, count), own, stop);
  });
}

void score_documents(const Encoder& encoder, const PairBatch& batch, std::span<const DocumentPassages> documents,
                     const Workers& workers, Workspace& group_memory, std::span<float> logits, const StopSignal& stop) {
  Team everybody{group_memory, workers.count, workers.run};
  std::vector<Candidate> passages;
  for (const Segment& passage : batch.documents) passages.push_back({passage});
  std::vector<Encoder::Document> all;
  std::vector<std::size_t> sizes;
  std::size_t first = 0;
  for (const DocumentPassages& document : documents) {
    all.push_back({std::span(passages).subspan(first, document.candidates), document.pivots});
    first += document.candidates;
    std::size_t& size = sizes.emplace_back();
    for (const Candidate& passage : all.back().passages) {
      size += encoder.tokens(batch.query.tokens(), passage.document.tokens());
    }
  }
  const std::vector<std::size_t> order = longest_first(all.size(), [&](std::size_t i) { return sizes[i]; });
  std::vector<Encoder::Document> ordered;
  std::vector<std::size_t> tokens;
  for (const std::size_t i : order) {
    ordered.push_back(all[i]);
    tokens.push_back(sizes[i]);
  }
  std::vector<float> in_order(order.size());
  share_documents(tokens, encoder.group_tokens(), workers, everybody, [&](const Schedule::Run& run, Team& team) {
    encoder.score_documents(batch.cls, batch.query, std::span(ordered).subspan(run.first, run.count),
                            std::span(in_order).subspan(run.first, run.count), team, stop);
  });
  for (std::size_t i = 0; i < order.size(); ++i) logits[order[i]] = in_order[i];
}

}  // namespace relucent::cpu
