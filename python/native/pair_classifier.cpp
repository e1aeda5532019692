#include "python/native/pair_classifier.h"

#include <cstddef>
#include <filesystem>

#include "python/native/jobs.h"

namespace relucent::python {

PairClassifier::PairClassifier(const SecondStageConfig& config)
    : name_(std::filesystem::path(config.model).filename().string()),
      classifier_(Classifier::load(model_folder(config.model),
                                   {config, BackendOptions{config.device, config.precision, config.threads, {}}})) {}

std::vector<float> PairClassifier::classify(std::span<const std::string_view> queries,
                                            std::span<const std::string_view> documents,
                                            const std::stop_token& stop) const {
  const std::size_t labels = classifier_->labels().size();
  std::vector<float> logits(documents.size() * labels);
  const std::vector<EqualTexts> groups = by_first_text(queries, kPairsAtOnce);
  run_jobs(groups.size(), kModelJobs, stop, [&](std::size_t group, const StopSignal& signal) {
    const auto& [query, places] = groups[group];
    std::vector<std::string_view> others;
    for (const std::size_t place : places) others.push_back(documents[place]);
    const std::vector<float> found = classifier_->classify(query, others, signal);
    for (std::size_t i = 0; i < found.size(); ++i) logits[places[i / labels] * labels + i % labels] = found[i];
  });
  return logits;
}

std::string PairClassifier::describe() const { return name_ + " on " + relucent::describe(classifier_->backend()); }

}  // namespace relucent::python
