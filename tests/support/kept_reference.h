#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {

/// The reference for a model. What it answers is kept, since a test asks it the same for every way to compute.
class KeptReference final : public Backend {
 public:
  explicit KeptReference(const RandomModel& model)
      : description_(model.description), reference_(model.on({Device::ref(), Precision::fp32, 1, ""})) {
    for (const auto& values : model.owned()) add<float>(weights_, *values);
  }

  const BackendInfo& info() const noexcept override { return reference_->info(); }

  void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop) const override {
    static std::map<Key, std::vector<std::pair<EncoderDescription, std::vector<float>>>> kept;
    if (!batch.documents.empty()) return reference_->score(batch, logits, stop);
    auto& of_key = kept[key_of(batch)];
    for (const auto& [description, answer] : of_key) {
      if (description != description_) continue;
      ASSERT_EQ(logits.size(), answer.size());
      std::ranges::copy(answer, logits.begin());
      return;
    }
    reference_->score(batch, logits, stop);
    of_key.emplace_back(description_, std::vector<float>(logits.begin(), logits.end()));
  }

  void encode(std::span<const Segment> texts, std::span<float> states, const StopSignal& stop) const override {
    reference_->encode(texts, states, stop);
  }
  HiddenStates hidden_states(const ScoringBatch& batch) const override { return reference_->hidden_states(batch); }

 private:
  /// The test's name without the way, the values of all weights, and the batch.
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;

  Key key_of(const ScoringBatch& batch) const {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    Checksum input;
    const auto add_segments = [&](std::span<const Segment> segments) {
      for (const Segment& segment : segments) {
        const std::int32_t numbers[] = {segment.group, segment.type, static_cast<std::int32_t>(segment.expansion)};
        add<std::int32_t>(input, numbers);
        add<std::int32_t>(input, segment.ids);
        add<std::int32_t>(input, segment.positions);
        add<float>(input, segment.states);
      }
      input.add("end");
    };
    add_segments(batch.shared);
    for (const std::span<const Segment> candidate : batch.candidates) add_segments(candidate);
    return {name.substr(0, name.find('/')), weights_.value(), input.value()};
  }

  template <typename Number>
  static void add(Checksum& sum, std::span<const Number> numbers) {
    const std::size_t count = numbers.size();
    sum.add({reinterpret_cast<const char*>(&count), sizeof count});
    sum.add({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  }

  EncoderDescription description_;
  Checksum weights_;
  std::unique_ptr<Backend> reference_;
};

inline std::unique_ptr<Backend> kept_reference(const RandomModel& model) {
  return std::make_unique<KeptReference>(model);
}

}  // namespace relucent::testing
