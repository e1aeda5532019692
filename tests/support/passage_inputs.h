#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "tests/support/kernels_support.h"

namespace relucent::testing {

/// Documents in passages of some lengths, with pivots: of every passage, which sees its neighbours; of every 12th
/// token, which sees every other one; and of one to three tokens between them, which see one another.
class PassageInputs {
 public:
  PassageInputs(RandomModel& model, std::size_t query, const std::vector<std::vector<std::size_t>>& lengths)
      : query_(model.tokens(query)), positions_(static_cast<std::size_t>(model.description.max_positions)) {
    std::iota(positions_.begin(), positions_.end(), 0);
    const std::span<const std::int32_t> positions(positions_);
    shared_.push_back({kCls, {&cls_, 1}, positions.first(1)});
    if (query > 0) shared_.push_back({kQuery, query_, positions.subspan(1, query)});
    for (const std::vector<std::size_t>& of_document : lengths) {
      std::vector<Group> groups(3);
      Document& document = documents_.emplace_back();
      for (const std::size_t length : of_document) {
        add_pivots(document.ids.size(), length, groups);
        document.ids.push_back(model.tokens(length));
      }
      link(
          groups[0], [](std::size_t a, std::size_t b) { return a <= b + 1 && b <= a + 1; }, false);
      link(
          groups[1], [](std::size_t a, std::size_t b) { return a % 2 == b % 2; }, true);
      link(
          groups[2], [](std::size_t, std::size_t) { return true; }, true);
      document.groups = std::move(groups);
    }
    for (Document& document : documents_) {
      for (const auto& ids : document.ids) {
        document.passages.push_back({kDocument, ids, positions.subspan(1 + query, ids.size()), 1});
      }
      for (std::size_t g = 0; g < document.groups.size(); ++g) {
        const Group& group = document.groups[g];
        document.pivots.push_back({static_cast<std::int32_t>(3 + g), group.pivots, group.tokens, group.seen});
      }
    }
  }
  PassageInputs(const PassageInputs&) = delete;
  PassageInputs& operator=(const PassageInputs&) = delete;

  std::vector<float> scores(const Backend& backend, std::size_t first, std::size_t count,
                            const StopSignal& stop = {}) const {
    std::vector<std::span<const Segment>> candidates;
    std::vector<DocumentPassages> documents;
    for (std::size_t i = first; i < first + count; ++i) {
      for (const Segment& passage : documents_[i].passages) candidates.emplace_back(&passage, 1);
      documents.push_back({documents_[i].passages.size(), documents_[i].pivots});
    }
    std::vector<float> logits(count, std::nanf(""));
    backend.score({shared_, candidates, documents}, logits, stop);
    return logits;
  }
  std::vector<float> scores(const Backend& backend) const { return scores(backend, 0, count()); }
  std::size_t count() const { return documents_.size(); }

 private:
  struct Group {
    std::vector<Pivots::Pivot> pivots;
    std::vector<std::int32_t> tokens, seen;
  };
  struct Document {
    std::vector<std::vector<std::int32_t>> ids;  // [passages]
    std::vector<Segment> passages;
    std::vector<Group> groups;
    std::vector<Pivots> pivots;
  };

  static void add_pivots(std::size_t passage, std::size_t length, std::vector<Group>& groups) {
    const auto add = [&](Group& group, std::size_t token, std::size_t count) {
      group.pivots.push_back({passage, group.tokens.size(), count, 0, 0});
      for (std::size_t i = 0; i < count; ++i) group.tokens.push_back(static_cast<std::int32_t>(token + i));
    };
    add(groups[0], 0, 1);
    for (std::size_t token = 0; token < length; token += 12) add(groups[1], token, 1);
    for (std::size_t token = 3; token + 3 <= length; token += 12) add(groups[2], token, 1 + token / 12 % 3);
  }

  /// Lets pivots see one another; those that see the same may share a list.
  template <typename Sees>
  static void link(Group& group, const Sees& sees, bool share) {
    const std::size_t count = group.pivots.size();
    for (std::size_t i = 0; i < count; ++i) {
      Pivots::Pivot& pivot = group.pivots[i];
      std::vector<std::int32_t> seen;
      for (std::size_t j = 0; j < count; ++j) {
        if (sees(i, j)) seen.push_back(static_cast<std::int32_t>(j));
      }
      const auto first = static_cast<std::size_t>(seen.front());
      if (share && first < i) {
        pivot.first_seen = group.pivots[first].first_seen;
      } else {
        pivot.first_seen = group.seen.size();
        group.seen.insert(group.seen.end(), seen.begin(), seen.end());
      }
      pivot.seen = seen.size();
    }
  }

  std::int32_t cls_ = 1;
  std::vector<std::int32_t> query_, positions_;
  std::vector<Segment> shared_;
  std::vector<Document> documents_;
};

}  // namespace relucent::testing
