#include "plugin/index_format/check/postings_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace relucent::check {

PostingsCheck::PostingsCheck(FileWindow frequencies, FileWindow* positions, std::int32_t documents,
                             std::int32_t skip_interval, std::int32_t most_skip_levels)
    : frequencies_(std::move(frequencies)),
      positions_(positions),
      documents_(documents),
      skip_interval_(skip_interval),
      most_levels_(most_skip_levels) {}

void PostingsCheck::check(const TermPlace& place, const FieldEntry& field) {
  frequencies_.seek(place.frequencies);
  if (positions_ && !field.no_frequencies) positions_->seek(place.positions);
  check_postings(place, field);
  if (place.documents < skip_interval_) return;
  if (frequencies_.position() != place.frequencies + place.skips) {
    frequencies_.damaged("a skip list is not at the offset recorded in the term dictionary");
  }
  check_skips(place, field);
}

void PostingsCheck::check_postings(const TermPlace& place, const FieldEntry& field) {
  const bool with_positions = !field.no_frequencies;
  places_.clear();
  payload_length_ = 0;
  std::int64_t document = -1;
  for (std::int32_t i = 0; i < place.documents; ++i) {
    if ((i + 1) % skip_interval_ == 0) {
      places_.push_back({std::max<std::int64_t>(document, 0), frequencies_.position(),
                         with_positions && positions_ ? positions_->position() : place.positions});
    }
    const std::uint32_t code = frequencies_.number();
    std::uint32_t frequency = 1;
    const std::int64_t step = with_positions ? code >> 1 : code;
    if (with_positions && (code & 1) == 0) frequency = frequencies_.number();
    if (i == 0) document = 0;
    document += step;
    if ((i > 0 && step == 0) || document >= documents_) {
      frequencies_.damaged(fmt::format("a postings list refers to document {} of {}", document, documents_));
    }
    if (frequency == 0 || frequency > 0x7FFFFFFF) frequencies_.damaged("a term frequency is out of range");
    if (with_positions) skip_positions(frequency, field.payloads);
  }
}

void PostingsCheck::skip_positions(std::uint32_t count, bool payloads) {
  FileWindow& positions = *positions_;
  if (!payloads) {
    for (; count > 0; --count) positions.number();
    return;
  }
  for (; count > 0; --count) {
    if ((positions.number() & 1) != 0) payload_length_ = positions.number();
    positions.skip(payload_length_);
  }
}

void PostingsCheck::check_skips(const TermPlace& place, const FieldEntry& field) {
  // As Lucene computes it, including rounding: its reader expects this number of levels.
  const int levels = std::min(static_cast<int>(std::floor(std::log(static_cast<double>(place.documents)) /
                                                          std::log(static_cast<double>(skip_interval_)))),
                              most_levels_);
  ends_.assign(static_cast<std::size_t>(levels), {});
  children_.assign(static_cast<std::size_t>(levels), {});
  std::int64_t step = skip_interval_;
  for (int level = 1; level < levels; ++level) step *= skip_interval_;
  for (int level = levels - 1; level >= 0; --level, step /= skip_interval_) {
    std::int64_t end = -1;
    if (level > 0) {
      const std::int64_t length = frequencies_.long_number();
      if (length > frequencies_.left()) frequencies_.damaged("a skip list's length is out of range");
      end = frequencies_.position() + length;
    }
    check_level(level, place.documents / step, end, place, field);
  }
  for (std::size_t level = 1; level < children_.size(); ++level) {
    for (std::size_t i = 0; i < children_[level].size(); ++i) {
      const std::size_t below = (i + 1) * static_cast<std::size_t>(skip_interval_) - 1;
      if (below >= ends_[level - 1].size() || children_[level][i] != ends_[level - 1][below]) {
        frequencies_.damaged("a skip list refers to an entry that does not exist");
      }
    }
  }
}

void PostingsCheck::check_level(int level, std::int64_t count, std::int64_t end, const TermPlace& place,
                                const FieldEntry& field) {
  const std::int64_t start = frequencies_.position();
  const auto index = static_cast<std::size_t>(level);
  std::size_t step = 1;
  for (int i = 0; i < level; ++i) step *= static_cast<std::size_t>(skip_interval_);
  Place now{0, place.frequencies, place.positions};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t code = frequencies_.number();
    const bool payloads = field.payloads && !field.no_frequencies;
    if (payloads && (code & 1) != 0) frequencies_.number();
    now.document += payloads ? code >> 1 : code;
    now.frequencies += frequencies_.number();
    now.positions += frequencies_.number();
    const Place& expected = places_[(static_cast<std::size_t>(i) + 1) * step - 1];
    if (now.document != expected.document || now.frequencies != expected.frequencies ||
        (!field.no_frequencies && now.positions != expected.positions)) {
      frequencies_.damaged("a skip list does not match its postings");
    }
    ends_[index].push_back(frequencies_.position() - start);
    if (level > 0) children_[index].push_back(frequencies_.long_number());
  }
  if (end >= 0 && frequencies_.position() != end) frequencies_.damaged("a skip list's length is wrong");
}

}  // namespace relucent::check
