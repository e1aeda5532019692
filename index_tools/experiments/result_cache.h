#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file/unique_fd.h"

namespace relucent::index_tools {

/// The second stage's result for one topic.
struct TopicResult {
  struct Hit {
    std::size_t candidate = 0;  ///< in first-stage order, from 0
    float score = 0;
    friend bool operator==(const Hit&, const Hit&) = default;
  };
  std::vector<Hit> order;
  std::size_t truncated = 0, without_text = 0;  ///< candidates
  double milliseconds = 0;                      ///< that computing it took

  friend bool operator==(const TopicResult&, const TopicResult&) = default;
};

/// Results of one model with one set of settings, by topic, in a file that grows by one line per topic. A killed
/// process loses at most the line that it was writing: each line ends with its checksum, and reading stops at the first
/// line that does not fit.
class ResultCache {
 public:
  /// Opens or creates the file for `description` (description_of_scoring()) in `folder`, which is created if missing,
  /// and locks it for as long as the object lives. Throws Error `io`, also if another process has it locked.
  ResultCache(const std::filesystem::path& folder, std::string_view description);
  ResultCache(const ResultCache&) = delete;
  ResultCache& operator=(const ResultCache&) = delete;

  /// nullptr if there is none. The pointer is valid until the next add().
  const TopicResult* find(std::uint64_t topic) const;
  /// The result is in the file when this returns. Throws Error `io`.
  void add(std::uint64_t topic, TopicResult result);

  const std::filesystem::path& file() const noexcept { return file_; }

 private:
  std::filesystem::path file_;
  UniqueFd descriptor_;
  std::unordered_map<std::uint64_t, TopicResult> results_;
};

/// A result as a line of the file, and back. Throws Error `invalid_data` for a line that is torn or changed.
std::string format_result_line(std::uint64_t topic, const TopicResult& result);
std::uint64_t parse_result_line(std::string_view line, TopicResult& result);

}  // namespace relucent::index_tools
