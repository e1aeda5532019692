#include "index_tools/corpora/read_report.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kExamples = 5;
constexpr std::int64_t kManyMalformed = 1000;

void add(std::map<std::string, ReadReport::Kind, std::less<>>& kinds, std::string_view kind, std::string place) {
  ReadReport::Kind& entry = kinds[std::string(kind)];
  ++entry.count;
  if (entry.examples.size() < kExamples) entry.examples.push_back(std::move(place));
}

/// "kind (place, place, ...); kind (place)"
std::string summary(const std::map<std::string, ReadReport::Kind, std::less<>>& of) {
  std::vector<std::string> kinds;
  for (const auto& [kind, entry] : of) {
    const bool more = entry.count > static_cast<std::int64_t>(entry.examples.size());
    kinds.push_back(fmt::format("{} ({}{})", kind, join(entry.examples), more ? ", ..." : ""));
  }
  return join(kinds, "; ");
}

}  // namespace

void ReadReport::malformed(std::string_view kind, std::string_view part, std::int64_t line) {
  const std::string place = fmt::format("{}:{}", part, line);
  if (strict_) {
    throw Error(ErrorKind::invalid_data, place, fmt::format("malformed record: {}", kind),
                "fix it, or run without --strict to skip a few such records");
  }
  ++malformed_;
  add(kinds_, kind, place);
  if (malformed_ >= kManyMalformed && malformed_share() > 0.5) {
    throw Error(ErrorKind::invalid_data, place, "most records are malformed: " + malformed_summary(),
                "check that the file has the corpus's format");
  }
}

void ReadReport::skipped_file(std::string_view why, std::string_view part) {
  if (strict_) {
    throw Error(ErrorKind::invalid_data, std::string(part), fmt::format("has no text that can be read: {}", why),
                "fix or remove it, or run without --strict to skip such files");
  }
  ++skipped_files_;
  add(skipped_kinds_, why, std::string(part));
}

void ReadReport::repair(std::string& text) { replaced_ += static_cast<std::int64_t>(replace_malformed_utf8(text)); }

double ReadReport::malformed_share() const {
  const std::int64_t records = documents_ + malformed_;
  return records == 0 ? 0 : static_cast<double>(malformed_) / static_cast<double>(records);
}

std::string ReadReport::malformed_summary() const {
  if (malformed_ == 0) return {};
  return fmt::format("{} {} skipped: {}", malformed_, malformed_ == 1 ? "record" : "records", summary(kinds_));
}

std::string ReadReport::skipped_summary() const {
  if (skipped_files_ == 0) return {};
  return fmt::format("{} {} skipped: {}", skipped_files_, skipped_files_ == 1 ? "file" : "files",
                     summary(skipped_kinds_));
}

}  // namespace relucent::index_tools
