#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/experiments/line_cache.h"

namespace relucent::index_tools {

/// The second stage's result for one topic.
struct TopicResult {
  static constexpr LineCache::Kind kCache{"experiment results", ".results", true};

  struct Hit {
    std::size_t candidate = 0;  ///< in first-stage order, from 0
    float score = 0;
    friend bool operator==(const Hit&, const Hit&) = default;
  };
  std::vector<Hit> order;
  std::size_t truncated = 0, without_text = 0;  ///< candidates
  double milliseconds = 0;                      ///< that computing it took

  std::string to_line() const;
  /// Throws Error `invalid_data` for any other text.
  static TopicResult from_line(std::string_view line);

  friend bool operator==(const TopicResult&, const TopicResult&) = default;
};

/// Results of one model with one set of settings (description_of_scoring()), by hash_of_topic() in hexadecimal.
using ResultCache = ValueCache<TopicResult>;

}  // namespace relucent::index_tools
