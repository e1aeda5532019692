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
  std::vector<float> logits(documents.size() * classifier_->labels().size());
  const std::vector<EqualTexts> groups = by_first_text(queries, kPairsAtOnce);
  run_jobs(groups.size(), kModelJobs, stop, [&](std::size_t group, const StopSignal& signal) {
    classify_group(*classifier_, groups[group], documents, logits, signal);
  });
  return logits;
}

std::string PairClassifier::describe() const { return name_ + " on " + relucent::describe(classifier_->backend()); }

}  // namespace relucent::python
