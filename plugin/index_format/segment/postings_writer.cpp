#include "plugin/index_format/segment/postings_writer.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace relucent::segment {
namespace {

void append_number(std::vector<std::uint8_t>& bytes, std::uint64_t value) {
  while (value > 0x7F) {
    bytes.push_back(static_cast<std::uint8_t>((value & 0x7F) | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<std::uint8_t>(value));
}

/// As Lucene computes it, including rounding: a reader expects the same number.
int skip_levels(std::int32_t documents) {
  if (documents == 0) return 0;
  const double levels =
      std::floor(std::log(static_cast<double>(documents)) / std::log(static_cast<double>(kSkipInterval)));
  return std::min(static_cast<int>(levels), kMaxSkipLevels);
}

}  // namespace

PostingsWriter::PostingsWriter(const std::filesystem::path& frequencies, const std::filesystem::path& positions,
                               std::int32_t documents)
    : frequencies_(frequencies), positions_(positions), levels_(skip_levels(documents)) {}

void PostingsWriter::start_term(bool with_frequencies) {
  with_frequencies_ = with_frequencies;
  info_ = {0, frequencies_.position(), positions_.position(), 0};
  last_document_ = 0;
  for (Level& level : skips_) {
    level.last = {0, info_.frequencies, info_.positions};
    level.bytes.clear();
  }
}

void PostingsWriter::add_document(std::int32_t document, std::int32_t frequency) {
  if (++info_.document_frequency % kSkipInterval == 0) add_skip();
  const auto step = static_cast<std::uint64_t>(document - last_document_);
  last_document_ = document;
  if (!with_frequencies_) {
    frequencies_.number(step);
  } else if (frequency == 1) {
    frequencies_.number(step << 1 | 1);
  } else {
    frequencies_.number(step << 1);
    frequencies_.number(static_cast<std::uint64_t>(frequency));
  }
}

void PostingsWriter::add_skip() {
  const Place here{last_document_, frequencies_.position(), positions_.position()};
  std::size_t below = 0;
  std::int32_t entries = info_.document_frequency;
  for (int i = 0; i < levels_ && entries % kSkipInterval == 0; ++i, entries /= kSkipInterval) {
    Level& level = skips_[static_cast<std::size_t>(i)];
    append_number(level.bytes, static_cast<std::uint64_t>(here.document - level.last.document));
    append_number(level.bytes, static_cast<std::uint64_t>(here.frequencies - level.last.frequencies));
    append_number(level.bytes, static_cast<std::uint64_t>(here.positions - level.last.positions));
    level.last = here;
    const std::size_t end = level.bytes.size();
    if (i > 0) append_number(level.bytes, below);  // pointer to the entry one level down
    below = end;
  }
}

void PostingsWriter::write_skips() {
  for (int i = levels_ - 1; i >= 0; --i) {
    const auto& bytes = skips_[static_cast<std::size_t>(i)].bytes;
    if (bytes.empty()) continue;
    if (i > 0) frequencies_.number(bytes.size());
    frequencies_.bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

TermInfo PostingsWriter::finish_term() {
  info_.skips = frequencies_.position() - info_.frequencies;
  write_skips();
  return info_;
}

std::pair<FileSum, FileSum> PostingsWriter::finish() {
  const FileSum frequencies = frequencies_.finish();
  return {frequencies, positions_.finish()};
}

}  // namespace relucent::segment
