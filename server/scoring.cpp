#include "server/scoring.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "relucent/device.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "server/refusal.h"

namespace relucent::server {

RerankScores score_texts(const RescoringStage& stage, std::string_view query, std::span<const std::string> texts,
                         const StopSignal& stop) {
  std::vector<Candidate> candidates(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    candidates[i].text = texts[i];
    candidates[i].first_stage_rank = static_cast<std::int32_t>(i) + 1;
  }
  RerankScores answer;
  answer.scores.resize(texts.size());
  const auto start = std::chrono::steady_clock::now();
  ScoringStats stats = score_candidates(stage, query, std::move(candidates), answer.scores, stop);
  answer.times = stats.times;
  answer.times.encode = time_since(start) - stats.times.tokenize;
  answer.fallback = std::move(stats.fallback);
  stop.throw_if_due("scoring the texts");
  for (CandidateScore& score : answer.scores) {
    if (score.unreadable) score.score = std::numeric_limits<float>::lowest();
  }
  return answer;
}

std::string absolute_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

namespace {

void make_absolute(StageConfig& stage) {
  // A name of the hub stays one.
  if (std::filesystem::exists(stage.model)) stage.model = absolute_path(stage.model);
  if (stage.module.find('/') != std::string::npos) stage.module = absolute_path(stage.module);
}

}  // namespace

Config with_absolute_paths(Config config) {
  config.index.path = absolute_path(config.index.path);
  make_absolute(config.rescorer);
  for (StageConfig& stage : config.rescorer.stages) make_absolute(stage);
  return config;
}

ModelInfo model_info(const Config& config, const Scorer& scorer) {
  const StageConfig stage = config.rescorer.effective_stages().back();
  ModelInfo info;
  const std::string line = scorer.describe();
  info.description = without_paths(line);
  const bool built_in = stage.module == ScorerConfig().module;
  const std::filesystem::path given = built_in ? stage.model : stage.module;
  const std::filesystem::path named = given.empty() ? default_model() : given;
  const std::filesystem::path folder = named.has_filename() ? named : named.parent_path();
  info.name = config.server.model_name.empty() ? folder.filename().string() : config.server.model_name;
  if (built_in) {
    const CheckpointInfo checkpoint = inspect_checkpoint(named);
    info.max_length = stage.max_length > 0 ? stage.max_length : checkpoint.max_length;
    const Head& head = checkpoint.description.head;
    if (head.outputs > 1) info.meaning = ScoreMeaning::log_probability;
    if (head.per_token) info.meaning = ScoreMeaning::similarity;
  }
  // Scorers describe their precision in words alone: "... on cpu (avx512, bf16, 2 threads), ...".
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view name = trim(rest.substr(0, end), "(),;");
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const bool is_precision = std::ranges::any_of(std::span(kPrecisionNames).subspan(1),
                                                  [&](const auto& precision) { return precision.second == name; });
    if (!is_precision) continue;
    info.precision = name;
    break;
  }
  return info;
}

ScoreCacheCounts cache_counts(std::span<const RescoringStage> stages) {
  ScoreCacheCounts sum;
  for (const RescoringStage& stage : stages) {
    const auto counts = score_cache_counts(*stage.scorer);
    if (!counts) continue;
    sum.hits += counts->hits;
    sum.misses += counts->misses;
    sum.evicted += counts->evicted;
    sum.scores += counts->scores;
    sum.bytes += counts->bytes;
  }
  return sum;
}

}  // namespace relucent::server
