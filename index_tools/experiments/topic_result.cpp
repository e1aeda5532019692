#include "index_tools/experiments/topic_result.h"

#include <fmt/core.h>

#include <charconv>
#include <iterator>

#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

template <typename Number>
Number number_of(std::string_view digits) {
  Number value{};
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || end != digits.data() + digits.size())
    throw Error(ErrorKind::invalid_data, "result", "is not a number: " + excerpt(digits));
  return value;
}

}  // namespace

std::string TopicResult::to_line() const {
  std::string line = fmt::format("{} {} {}", milliseconds, truncated, without_text);
  // {fmt} writes the fewest digits that read back to the same float.
  for (const Hit& hit : order) fmt::format_to(std::back_inserter(line), " {} {}", hit.candidate, hit.score);
  return line;
}

TopicResult TopicResult::from_line(std::string_view line) {
  const std::vector<std::string_view> fields = split_fields(line);
  if (fields.size() < 3 || fields.size() % 2 == 0) throw Error(ErrorKind::invalid_data, "result", "is incomplete");
  TopicResult result;
  result.milliseconds = number_of<double>(fields[0]);
  result.truncated = number_of<std::size_t>(fields[1]);
  result.without_text = number_of<std::size_t>(fields[2]);
  for (std::size_t i = 3; i < fields.size(); i += 2) {
    result.order.push_back({number_of<std::size_t>(fields[i]), number_of<float>(fields[i + 1])});
  }
  return result;
}

}  // namespace relucent::index_tools
