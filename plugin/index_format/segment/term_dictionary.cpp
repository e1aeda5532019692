#include "plugin/index_format/segment/term_dictionary.h"

#include <algorithm>

namespace relucent::segment {
namespace {

constexpr std::int32_t kDictionaryFormat = -4, kIndexInterval = 128;
constexpr std::int64_t kSizePosition = 4;
constexpr std::uint32_t kNoField = 0xFFFFFFFF;
constexpr std::size_t kMaxTerm = 1 << 20;

}  // namespace

TermDictionaryWriter::Stream::Stream(const std::filesystem::path& path) : out(path) {
  out.int32(kDictionaryFormat);
  out.int64(0);  // the number of terms, once it is known
  out.int32(kIndexInterval);
  out.int32(kSkipInterval);
  out.int32(kMaxSkipLevels);
}

void TermDictionaryWriter::Stream::add(std::uint32_t field, std::string_view text, const TermInfo& info) {
  const auto shared = static_cast<std::size_t>(
      std::mismatch(text.begin(), text.end(), last_text.begin(), last_text.end()).first - text.begin());
  out.number(shared);
  out.string(text.substr(shared));
  out.number(field);
  out.number(static_cast<std::uint64_t>(info.document_frequency));
  out.number(static_cast<std::uint64_t>(info.frequencies - last.frequencies));
  out.number(static_cast<std::uint64_t>(info.positions - last.positions));
  if (info.document_frequency >= kSkipInterval) out.number(static_cast<std::uint64_t>(info.skips));
  last_text = text;
  last = info;
  ++size;
}

FileSum TermDictionaryWriter::Stream::finish() {
  out.overwrite_int64(kSizePosition, size);
  return out.finish();
}

TermDictionaryWriter::TermDictionaryWriter(const std::filesystem::path& terms, const std::filesystem::path& index)
    : terms_(terms), index_(index), last_field_(kNoField) {}

void TermDictionaryWriter::add(std::uint32_t field, std::string_view text, const TermInfo& info) {
  if (terms_.size % kIndexInterval == 0) {
    // An entry describes the term before a position of .tis; the first entry is an empty term without a field.
    index_.add(last_field_, terms_.last_text, terms_.last);
    index_.out.number(static_cast<std::uint64_t>(terms_.out.position() - last_index_position_));
    last_index_position_ = terms_.out.position();
  }
  terms_.add(field, text, info);
  last_field_ = field;
}

std::pair<FileSum, FileSum> TermDictionaryWriter::finish() {
  const FileSum terms = terms_.finish();
  return {terms, index_.finish()};
}

TermDictionaryReader::TermDictionaryReader(const std::filesystem::path& terms, const FileSum& expected)
    : in_(terms, expected) {
  if (in_.int32() != kDictionaryFormat) in_.damaged("is not a term dictionary");
  left_ = in_.int64();
  if (in_.int32() != kIndexInterval || in_.int32() != kSkipInterval || in_.int32() != kMaxSkipLevels || left_ < 0) {
    in_.damaged("is not a term dictionary written by Relucent");
  }
}

bool TermDictionaryReader::next() {
  if (left_ == 0) return false;
  --left_;
  const std::uint64_t shared = in_.number(), rest = in_.number();
  if (shared > text_.size() || rest > kMaxTerm) in_.damaged("a term's length is out of range");
  text_.resize(shared + rest);
  in_.bytes(text_.data() + shared, static_cast<std::int64_t>(rest));
  field_ = static_cast<std::uint32_t>(in_.number());
  info_.document_frequency = static_cast<std::int32_t>(in_.number());
  info_.frequencies += static_cast<std::int64_t>(in_.number());
  info_.positions += static_cast<std::int64_t>(in_.number());
  info_.skips = info_.document_frequency >= kSkipInterval ? static_cast<std::int64_t>(in_.number()) : 0;
  return true;
}

}  // namespace relucent::segment
