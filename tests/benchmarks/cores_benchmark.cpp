// Predicts a query's time on many cores from the times of its tasks on one.
//   build/release/tests/cores_benchmark [DOCUMENTS [TOKENS]]
// Shares a query's candidates (random weights in the bundled model's shape) as 1, 2, 4 ... workers would, runs the
// tasks one after another on one thread and times them. A step, after which all workers wait for each other, is
// predicted to take as long as the worker with the most to do; "busy" is the share of the workers' time in tasks. What
// cores share (memory, caches, power) and what the calling thread does between the steps is not in the prediction, so
// it is optimistic; waking the workers is, with kWaking for each step.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <queue>
#include <vector>

#include "kernels/cpu/encoders/encoder.h"
#include "tests/support/kernels_support.h"

namespace {

using namespace relucent;
using Clock = std::chrono::steady_clock;

constexpr double kWaking = 20e-6;  // seconds
constexpr int kRounds = 3;
constexpr std::size_t kQueryTokens = 8;

using Steps = std::vector<std::vector<double>>;  // the seconds of each step's tasks

Steps steps_of(const cpu::Encoder& encoder, const ScoringBatch& batch, std::size_t workers, cpu::Workspace& group,
               cpu::Workspace& own) {
  Steps steps;
  const auto run = [&](std::size_t count, const cpu::Team::Work& work) {
    std::vector<double>& seconds = steps.emplace_back(count);
    for (std::size_t index = 0; index < count; ++index) {
      const auto start = Clock::now();
      work(index, own);
      seconds[index] = std::chrono::duration<double>(Clock::now() - start).count();
    }
  };
  std::vector<float> logits(batch.candidates.size());
  cpu::Team team{group, workers, run};
  encoder.score(batch, logits, team, {});
  return steps;
}

// Each task's median over some rounds: other programs disturb single ones.
Steps median_steps(const cpu::Encoder& encoder, const ScoringBatch& batch, std::size_t workers, cpu::Workspace& group,
                   cpu::Workspace& own) {
  steps_of(encoder, batch, workers, group, own);  // touches the memory
  std::vector<Steps> rounds;
  for (int round = 0; round < kRounds; ++round) rounds.push_back(steps_of(encoder, batch, workers, group, own));
  Steps median = rounds.front();
  for (std::size_t step = 0; step < median.size(); ++step) {
    for (std::size_t task = 0; task < median[step].size(); ++task) {
      std::vector<double> seconds;
      for (const Steps& round : rounds) seconds.push_back(round[step][task]);
      std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
      median[step][task] = seconds[kRounds / 2];
    }
  }
  return median;
}

// The time of the worker with the most to do, if each takes the next task whenever it is free.
double longest_of(const std::vector<double>& tasks, std::size_t workers) {
  std::priority_queue<double, std::vector<double>, std::greater<>> loads;
  for (std::size_t worker = 0; worker < workers; ++worker) loads.push(0);
  double longest = 0;
  for (const double seconds : tasks) {
    const double load = loads.top() + seconds;
    loads.pop();
    loads.push(load);
    longest = std::max(longest, load);
  }
  return longest;
}

void print_table(const cpu::Encoder& encoder, const ScoringBatch& batch) {
  cpu::Workspace group, own;
  double alone = 0;
  std::printf("%7s %10s %9s %6s %7s %7s\n", "cores", "ms", "speed-up", "busy", "steps", "tasks");
  for (const std::size_t workers : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const Steps steps = median_steps(encoder, batch, workers, group, own);
    double predicted = 0, all = 0;
    std::size_t tasks = 0;
    for (const std::vector<double>& step : steps) {
      predicted += longest_of(step, workers) + (workers > 1 ? kWaking : 0);
      all = std::accumulate(step.begin(), step.end(), all);
      tasks += step.size();
    }
    if (workers == 1) alone = predicted;
    std::printf("%7zu %10.2f %9.2f %5.0f%% %7zu %7zu\n", workers, 1e3 * predicted, alone / predicted,
                100 * all / (predicted * static_cast<double>(workers)), steps.size(), tasks);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t documents = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 100;
  const std::size_t tokens = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 174;
  if (documents == 0 || tokens < kQueryTokens + 3 || tokens > 512) {
    std::fprintf(stderr, "usage: cores_benchmark [DOCUMENTS [TOKENS]], at most 512 tokens\n");
    return 2;
  }
  AttentionPattern pattern;
  pattern.query_cls = pattern.query_document = false;
  pattern.window = 4;
  relucent::testing::RandomModel model(
      {.hidden = 384, .heads = 12, .intermediate = 1536, .layers = 6, .vocabulary = 1000, .positions = 512}, pattern);
  const relucent::testing::Pairs pairs = relucent::testing::random_pairs(
      model, kQueryTokens, std::vector<std::size_t>(documents, tokens - kQueryTokens - 1));
  const relucent::testing::PairSegments segments(1, pairs.query, pairs.documents);
  const cpu::VectorKernels& kernels = cpu::best_vector_kernels();
  const auto print = [&](const char* name, cpu::Arithmetic arithmetic) {
    std::printf("%zu documents of %zu tokens, %s, %s\n", documents, tokens, kernels.name, name);
    print_table(*cpu::make_encoder({model.description, model.weights, arithmetic, kernels}), segments.batch());
  };
  print("fp32", cpu::Arithmetic::fp32);
  if (kernels.native_bf16) print("bf16", cpu::Arithmetic::bf16);
  if (kernels.native_int8) print("int8", cpu::Arithmetic::int8);
}
