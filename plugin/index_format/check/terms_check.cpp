#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>

#include "plugin/index_format/check/postings_check.h"
#include "plugin/index_format/check/segment_check.h"

namespace relucent::check {
namespace {

constexpr std::int32_t kFormat = -4, kMaxSkipLevels = 32;
constexpr std::uint32_t kNoField = 0xFFFFFFFF;
constexpr std::int64_t kMaxTerm = 1 << 20;

/// One of the two files of a term dictionary: .tis with all terms, .tii with every interval-th term.
class Terms {
 public:
  explicit Terms(FileWindow in) : in_(std::move(in)) {
    if (const std::int32_t format = in_.int32(); format != kFormat) {
      in_.damaged(fmt::format("the term dictionary's format ({}) is damaged or not from Lucene 2.4 to 3.0", format));
    }
    size_ = in_.int64();
    interval_ = in_.int32();
    skip_interval_ = in_.int32();
    skip_levels_ = in_.int32();
    if (size_ < 0 || size_ > in_.length() || interval_ <= 0 || skip_interval_ < 2 || skip_levels_ < 1 ||
        skip_levels_ > kMaxSkipLevels) {
      in_.damaged("the term dictionary's header is out of range");
    }
  }

  void next() {
    const std::int64_t shared =
        in_.count(static_cast<std::int64_t>(text_.size()), "the length of a term's shared prefix");
    const std::int64_t rest = in_.count(kMaxTerm, "a term's length");
    text_.resize(static_cast<std::size_t>(shared));
    in_.append(text_, rest);
    if (!is_utf8(text_)) in_.damaged("a term is not valid UTF-8");
    field_ = in_.number();
    place_.documents = static_cast<std::int32_t>(in_.count(0x7FFFFFFF, "a term's number of documents"));
    place_.frequencies = moved(place_.frequencies);
    place_.positions = moved(place_.positions);
    place_.skips = place_.documents >= skip_interval_ ? in_.count(0x7FFFFFFF, "a skip list's offset") : 0;
    ++read_;
  }

  /// An offset in a file plus the next number.
  std::int64_t moved(std::int64_t offset) {
    constexpr std::int64_t largest_file = std::int64_t{1} << 62;
    const std::int64_t step = in_.long_number();
    if (step > largest_file - offset) in_.damaged("an offset is out of range");
    return offset + step;
  }

  FileWindow& in() { return in_; }
  std::int64_t size() const { return size_; }
  std::int64_t read() const { return read_; }
  std::int32_t interval() const { return interval_; }
  std::int32_t skip_interval() const { return skip_interval_; }
  std::int32_t skip_levels() const { return skip_levels_; }
  const std::string& text() const { return text_; }
  std::uint32_t field() const { return field_; }
  const TermPlace& place() const { return place_; }

 private:
  FileWindow in_;
  std::int64_t size_ = 0, read_ = 0;
  std::int32_t interval_ = 0, skip_interval_ = 0, skip_levels_ = 0;
  std::string text_;
  std::uint32_t field_ = kNoField;
  TermPlace place_;
};

/// Whether terms may have this order. Lucene++ sorts by code points, Java Lucene by UTF-16 units; characters that the
/// two order differently are accepted in both orders.
bool may_follow(const std::string& before, const std::string& after) {
  const auto [a, b] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  if (b == after.end()) return false;
  if (a == before.end()) return true;
  const auto left = static_cast<unsigned char>(*a), right = static_cast<unsigned char>(*b);
  return left < right || (left >= 0xEE && right >= 0xED);
}

/// Checks the next index entry: the term before a position of the dictionary, and that position.
void check_index_entry(Terms& index, const Terms& terms, std::int64_t position, std::int64_t& pointer) {
  if (index.read() == index.size()) index.in().damaged("the term index has too few entries");
  index.next();
  pointer = index.moved(pointer);
  const TermPlace &left = index.place(), &right = terms.place();
  if (index.text() != terms.text() || index.field() != terms.field() || left.documents != right.documents ||
      left.frequencies != right.frequencies || left.positions != right.positions || pointer != position) {
    index.in().damaged("the term index does not match the term dictionary");
  }
}

}  // namespace

void check_terms(const SegmentFiles& files, const std::vector<FieldEntry>& fields) {
  Terms terms(files.open("tis")), index(files.open("tii"));
  if (index.skip_interval() != terms.skip_interval()) index.in().damaged("does not match the term dictionary");
  const bool any_positions =
      std::ranges::any_of(fields, [](const FieldEntry& field) { return field.indexed && !field.no_frequencies; });
  std::optional<FileWindow> positions;
  if (any_positions) positions = files.open("prx");
  PostingsCheck postings(files.open("frq"), positions ? &*positions : nullptr, files.entry().documents,
                         terms.skip_interval(), terms.skip_levels());
  std::string before;
  std::uint32_t field_before = kNoField;
  std::int64_t pointer = 0;
  while (terms.read() < terms.size()) {
    if (terms.read() % terms.interval() == 0) check_index_entry(index, terms, terms.in().position(), pointer);
    before = terms.text();
    field_before = terms.field();
    terms.next();
    if (terms.field() >= fields.size() || !fields[terms.field()].indexed) {
      terms.in().damaged(fmt::format("field {} does not exist or is not indexed", terms.field()));
    }
    const bool in_order =
        field_before == kNoField ||
        (terms.field() == field_before ? may_follow(before, terms.text())
                                       : may_follow(fields[field_before].name, fields[terms.field()].name));
    if (!in_order) terms.in().damaged("terms are out of order");
    if (terms.place().documents == 0 || terms.place().documents > files.entry().documents) {
      terms.in().damaged(fmt::format("a term's number of documents ({}) is out of range", terms.place().documents));
    }
    postings.check(terms.place(), fields[terms.field()]);
  }
  if (terms.in().left() != 0) terms.in().damaged("unexpected data follows the last term");
  if (index.read() != index.size() || index.in().left() != 0) index.in().damaged("the term index has too many entries");
}

}  // namespace relucent::check
