#include "plugin/lucene/bm25/term_score.h"

#include <cmath>

namespace relucent::bm25 {
namespace {

// The formulas of Zhai and Lafferty (2004), in Lucene's order of operations.

double dirichlet(double mu, double frequency, double probability, double length) {
  return std::log(1 + frequency / (mu * probability)) + std::log(mu / (length + mu));
}

double jelinek_mercer(float lambda, double frequency, double probability, double length) {
  const double seen = static_cast<double>(1.0F - lambda) * frequency / length;
  return std::log(1 + seen / (static_cast<double>(lambda) * probability));
}

}  // namespace

double collection_probability(std::int64_t total_frequency, std::int64_t tokens) {
  return (static_cast<double>(total_frequency) + 1) / (static_cast<double>(tokens) + 1);
}

TermScore::TermScore(const FieldModel& model, const Importance& importance)
    : bm25_(model.settings().scoring == FirstStageScoring::bm25),
      weight_(importance.weight()),
      factors_(model.factors().data()),
      boost_(importance.boost),
      settings_(model.settings()) {
  for (const std::int64_t total : importance.total_frequencies) {
    probabilities_.push_back(collection_probability(total, model.statistics().sum_total_term_freq));
  }
}

float TermScore::likelihood(float frequency, std::uint8_t length) const {
  const double tokens = byte_length(length);
  float sum = 0;
  for (const double probability : probabilities_) {
    if (settings_.scoring == FirstStageScoring::qld) {
      const double score = boost_ * dirichlet(settings_.mu, frequency, probability, tokens);
      sum += static_cast<float>(score > 0 ? score : 0);
    } else {
      sum += static_cast<float>(boost_ * jelinek_mercer(settings_.lambda, frequency, probability, tokens));
    }
  }
  return sum;
}

}  // namespace relucent::bm25
