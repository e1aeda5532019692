#include "relucent/model/classifier.h"

#include <unordered_map>
#include <utility>

#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/model/mix_encoder.h"

namespace relucent {
namespace {

/// `Other` is made of what is classified with the text.
template <typename Model, typename Other>
class ModelClassifier final : public Classifier {
 public:
  explicit ModelClassifier(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  const std::vector<std::string>& labels() const noexcept override { return labels_; }
  std::vector<float> classify(std::string_view text, std::span<const std::string_view> others,
                              const StopSignal& stop) const override {
    std::vector<Other> candidates;
    for (const std::string_view other : others) candidates.push_back({other});
    return model_->classify(text, candidates, stop);
  }
  const BackendInfo& backend() const noexcept override { return model_->backend(); }

 private:
  std::shared_ptr<const Model> model_;
  std::vector<std::string> labels_ = model_->labels();
};
using PairClassifier = ModelClassifier<CrossEncoder, std::string_view>;
using MixClassifier = ModelClassifier<MixEncoder, MixCandidate>;

}  // namespace

std::shared_ptr<const Classifier> Classifier::load(const std::filesystem::path& checkpoint,
                                                   const CrossEncoderOptions& options) {
  std::shared_ptr<const Classifier> classifier;
  if (checkpoint_model_type(checkpoint) == "mixencoder") {
    classifier = std::make_shared<MixClassifier>(MixEncoder::load(checkpoint, options.backend));
  } else {
    classifier = std::make_shared<PairClassifier>(CrossEncoder::load(checkpoint, options));
  }
  require_labels(checkpoint, classifier->labels());
  return classifier;
}

std::vector<EqualTexts> by_first_text(std::span<const std::string_view> texts, std::size_t most) {
  std::vector<EqualTexts> groups;
  std::unordered_map<std::string_view, std::size_t> group_of;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto [found, is_new] = group_of.try_emplace(texts[i], groups.size());
    if (is_new || groups[found->second].places.size() == most) {
      found->second = groups.size();
      groups.push_back({texts[i], {}});
    }
    groups[found->second].places.push_back(i);
  }
  return groups;
}

void classify_group(const Classifier& classifier, const EqualTexts& group, std::span<const std::string_view> others,
                    std::span<float> logits, const StopSignal& stop) {
  const std::size_t labels = classifier.labels().size();
  std::vector<std::string_view> of_group;
  for (const std::size_t place : group.places) of_group.push_back(others[place]);
  const std::vector<float> found = classifier.classify(group.text, of_group, stop);
  for (std::size_t i = 0; i < found.size(); ++i) logits[group.places[i / labels] * labels + i % labels] = found[i];
}

}  // namespace relucent
