#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/export.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {

/// A model of pairs of texts whose head gives the logits of labels instead of a score, such as those of natural
/// language inference: a cross-encoder with three or more labels, or a MixEncoder with `mix_score` "classification".
/// Thread-safe.
class RELUCENT_API Classifier {
 public:
  virtual ~Classifier() = default;

  /// Throws the same Errors as CrossEncoder::load; `unsupported` for a model that scores.
  static std::shared_ptr<const Classifier> load(const std::filesystem::path& checkpoint,
                                                const CrossEncoderOptions& options = {});

  /// The names of the labels, in the order of the outputs.
  virtual const std::vector<std::string>& labels() const noexcept = 0;
  /// The logits of all labels for the text with each of the others, its second texts: [others][labels]. They depend on
  /// the pair alone. Throws Error when `stop` is due.
  virtual std::vector<float> classify(std::string_view text, std::span<const std::string_view> others,
                                      const StopSignal& stop = {}) const = 0;
  virtual const BackendInfo& backend() const noexcept = 0;
};

/// Pairs of a list that have the same first text.
struct EqualTexts {
  std::string_view text;
  std::vector<std::size_t> places;  ///< of the pairs
};

/// Groups pairs by their first text, in the order in which it first occurs, with at most `most` pairs each.
RELUCENT_API std::vector<EqualTexts> by_first_text(std::span<const std::string_view> texts, std::size_t most);

/// Writes the logits of a group's pairs to their places in `logits`, [pairs][labels]. `others` are the second texts of
/// all pairs. Throws as Classifier::classify() does.
RELUCENT_API void classify_group(const Classifier& classifier, const EqualTexts& group,
                                 std::span<const std::string_view> others, std::span<float> logits,
                                 const StopSignal& stop = {});

}  // namespace relucent
