#include "index_tools/experiments/result_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <iterator>
#include <system_error>

#include "base/checksum.h"
#include "base/file/file_io.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kFirstLine = "relucent experiment results 1\n";

template <typename Number>
Number number_of(std::string_view digits) {
  Number value{};
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || end != digits.data() + digits.size())
    throw Error(ErrorKind::invalid_data, "result", "is not a number: " + excerpt(digits));
  return value;
}

UniqueFd open_locked(const std::filesystem::path& file) {
  UniqueFd descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!descriptor) throw_io_error(file, "opening", errno);
  if (::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) return descriptor;
  if (errno == EWOULDBLOCK) {
    throw Error(ErrorKind::io, file.string(), "another process is computing the same results",
                "wait until it has ended, or choose another --cache");
  }
  if (errno != ENOLCK && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
    throw_io_error(file, "locking", errno);
  return descriptor;
}

std::string header_of(std::string_view description) {
  std::string header(kFirstLine);
  for (std::size_t begin = 0; begin < description.size();) {
    const std::size_t end = std::min(description.find('\n', begin), description.size());
    header += fmt::format("# {}\n", description.substr(begin, end - begin));
    begin = end + 1;
  }
  return header;
}

std::string whole_file(int descriptor, const std::filesystem::path& file) {
  std::string text;
  char buffer[1 << 16];
  for (std::size_t count; (count = read_some(descriptor, buffer, sizeof buffer, file)) > 0;) text.append(buffer, count);
  return text;
}

}  // namespace

std::string format_result_line(std::uint64_t topic, const TopicResult& result) {
  std::string line =
      fmt::format("{} {} {} {}", to_hex(topic), result.milliseconds, result.truncated, result.without_text);
  // {fmt} writes the fewest digits that read back to the same float.
  for (const TopicResult::Hit& hit : result.order)
    fmt::format_to(std::back_inserter(line), " {} {}", hit.candidate, hit.score);
  line += fmt::format(" {}\n", to_hex(checksum(line)));
  return line;
}

std::uint64_t parse_result_line(std::string_view line, TopicResult& result) {
  const std::size_t last = line.rfind(' ');
  if (!line.ends_with('\n') || last == std::string_view::npos)
    throw Error(ErrorKind::invalid_data, "result", "is incomplete");
  line.remove_suffix(1);
  if (from_hex(line.substr(last + 1), "result") != checksum(line.substr(0, last)))
    throw Error(ErrorKind::invalid_data, "result", "has another checksum");
  const std::vector<std::string_view> fields = split_fields(line.substr(0, last));
  if (fields.size() < 4 || fields.size() % 2 != 0) throw Error(ErrorKind::invalid_data, "result", "is incomplete");
  result = {};
  result.milliseconds = number_of<double>(fields[1]);
  result.truncated = number_of<std::size_t>(fields[2]);
  result.without_text = number_of<std::size_t>(fields[3]);
  for (std::size_t i = 4; i < fields.size(); i += 2)
    result.order.push_back({number_of<std::size_t>(fields[i]), number_of<float>(fields[i + 1])});
  return from_hex(fields[0], "result");
}

ResultCache::ResultCache(const std::filesystem::path& folder, std::string_view description) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    throw Error(ErrorKind::io, folder.string(), "cannot be created: " + problem.message(), "choose another --cache");
  }
  file_ = folder / (to_hex(checksum(description)) + ".results");
  descriptor_ = open_locked(file_);
  const std::string text = whole_file(descriptor_.get(), file_);
  const std::string header = header_of(description);
  std::size_t valid = 0;
  if (text.starts_with(header)) {
    valid = header.size();
    while (valid < text.size()) {
      const std::size_t end = text.find('\n', valid);
      if (end == std::string::npos) break;  // a process was killed while it wrote this
      TopicResult result;
      try {  // a damaged line is computed again
        const std::uint64_t topic = parse_result_line(std::string_view(text).substr(valid, end + 1 - valid), result);
        results_[topic] = std::move(result);
      } catch (const Error&) {
      }
      valid = end + 1;
    }
  }
  if (valid < text.size() && ::ftruncate(descriptor_.get(), static_cast<off_t>(valid)) != 0)
    throw_io_error(file_, "truncating", errno);
  if (valid == 0) write_all(descriptor_.get(), header, file_);
}

const TopicResult* ResultCache::find(std::uint64_t topic) const {
  const auto found = results_.find(topic);
  return found == results_.end() ? nullptr : &found->second;
}

void ResultCache::add(std::uint64_t topic, TopicResult result) {
  write_all(descriptor_.get(), format_result_line(topic, result), file_);
  results_[topic] = std::move(result);
}

}  // namespace relucent::index_tools
