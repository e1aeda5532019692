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
    copy(kept<std::vector<float>>("score", sum_of(batch),
                                  [&] {
                                    std::vector<float> answer(logits.size());
                                    reference_->score(batch, answer, stop);
                                    return answer;
                                  }),
         logits);
  }

  void encode(std::span<const Segment> texts, std::span<float> states, const StopSignal& stop) const override {
    Checksum input;
    add_segments(input, texts);
    copy(kept<std::vector<float>>("encode", input.value(),
                                  [&] {
                                    std::vector<float> answer(states.size());
                                    reference_->encode(texts, answer, stop);
                                    return answer;
                                  }),
         states);
  }

  HiddenStates hidden_states(const ScoringBatch& batch) const override {
    return kept<HiddenStates>("states", sum_of(batch), [&] { return reference_->hidden_states(batch); });
  }

 private:
  /// The test's name without the way, what is asked, the values of all weights, and the input.
  using Key = std::tuple<std::string, std::string_view, std::uint64_t, std::uint64_t>;

  template <typename Answer, typename Compute>
  const Answer& kept(std::string_view what, std::uint64_t input, const Compute& compute) const {
    static std::map<Key, std::vector<std::pair<EncoderDescription, std::unique_ptr<Answer>>>> answers;
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    auto& of_key = answers[{name.substr(0, name.find('/')), what, weights_.value(), input}];
    for (const auto& [description, answer] : of_key) {
      if (description == description_) return *answer;
    }
    return *of_key.emplace_back(description_, std::make_unique<Answer>(compute())).second;
  }

  static void copy(const std::vector<float>& answer, std::span<float> to) {
    ASSERT_EQ(answer.size(), to.size());
    std::ranges::copy(answer, to.begin());
  }

  static std::uint64_t sum_of(const ScoringBatch& batch) {
    Checksum input;
    add_segments(input, batch.shared);
    for (const std::span<const Segment> candidate : batch.candidates) add_segments(input, candidate);
    for (const DocumentPassages& document : batch.documents) {
      input.add(std::to_string(document.candidates));
      for (const Pivots& of_group : document.pivots) {
        input.add(std::to_string(of_group.group));
        add(input, of_group.pivots);
        add(input, of_group.tokens);
        add(input, of_group.seen);
      }
    }
    return input.value();
  }

  static void add_segments(Checksum& input, std::span<const Segment> segments) {
    for (const Segment& segment : segments) {
      const std::int32_t numbers[] = {segment.group, segment.type, static_cast<std::int32_t>(segment.expansion)};
      add<std::int32_t>(input, numbers);
      add<std::int32_t>(input, segment.ids);
      add<std::int32_t>(input, segment.positions);
      add<float>(input, segment.states);
    }
    input.add("end");
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
