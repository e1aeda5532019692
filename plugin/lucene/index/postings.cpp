#include "plugin/lucene/index/postings.h"

#include <IndexInput.h>
#include <Term.h>

#include <algorithm>
#include <cstring>

#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent::bm25 {
namespace {

constexpr std::size_t kPiece = 16384;    // bytes read at once from a long list
constexpr std::size_t kMaxPosting = 10;  // two numbers of five bytes

/// Decodes a list without frequencies: only distances, seven bits per byte, lowest first.
const std::uint8_t* decode_documents(const std::uint8_t* bytes, std::int32_t count, std::int64_t& document,
                                     std::int32_t* documents) {
  for (std::int32_t i = 0; i < count; ++i) {
    std::uint32_t byte = *bytes++, distance = byte & 0x7FU;
    for (int shift = 7; (byte & 0x80U) != 0 && shift < 35; shift += 7) {
      byte = *bytes++;
      distance |= (byte & 0x7FU) << shift;
    }
    document += distance;
    documents[i] = static_cast<std::int32_t>(document);
  }
  return bytes;
}

}  // namespace

/// Gives access to protected members of SegmentTermDocs.
class Postings::Access : public Lucene::SegmentTermDocs {
 public:
  explicit Access(const Lucene::SegmentReaderPtr& segment)
      : SegmentTermDocs(segment), max_document(segment->maxDoc()), name(segment->getSegmentName()) {}
  std::int32_t document_frequency() const { return df; }
  Lucene::BitVectorPtr deletions() const { return deletedDocs; }
  bool frequencies_omitted() const { return currentFieldOmitTermFreqAndPositions; }

  const std::int32_t max_document;
  const Lucene::String name;
};

Postings::Postings(const Lucene::SegmentReaderPtr& segment)
    : access_(Lucene::newLucene<Access>(segment)), max_document_(access_->max_document) {
  input_ = access_->freqStream();
}

void Postings::seek(const Lucene::TermPtr& term) {
  access_->seek(term);
  start();
}

void Postings::seek(const Lucene::TermEnumPtr& term) {
  access_->seek(term);
  start();
}

void Postings::start() {
  left_ = access_->document_frequency();
  frequencies_omitted_ = access_->frequencies_omitted();
  document_ = 0;
  position_ = filled_ = 0;
  size_ = 0;
  unread_ = left_ == 0 ? 0 : input_->length() - input_->getFilePointer();
  if (left_ < 0 || left_ > max_document_) damaged();
}

std::int32_t Postings::document_frequency() const { return access_->document_frequency(); }

Lucene::BitVectorPtr Postings::deletions() const { return access_->deletions(); }

void Postings::damaged() const {
  throw Error(ErrorKind::invalid_data, to_utf8(access_->name) + ".frq", "a postings list is damaged",
              "restore the index from a copy, or rebuild it");
}

/// Ensures that the buffer has at least `wanted` bytes, padded with zeros at the end of the file.
void Postings::fill(std::size_t wanted) {
  const std::size_t kept = filled_ - position_;
  if (kept >= wanted) return;
  const std::size_t piece = std::clamp<std::size_t>(static_cast<std::size_t>(left_) * 2 + 16, wanted, kPiece);
  const std::size_t room = kept + piece + wanted + PostingKernels::kReadAhead;
  if (buffer_.size() < room) buffer_.resize(room);
  std::memmove(buffer_.data(), buffer_.data() + position_, kept);
  position_ = 0;
  const auto bytes = static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(piece), unread_));
  if (bytes > 0) {
    input_->readBytes(buffer_.data() + kept, 0, static_cast<std::int32_t>(bytes));
    unread_ -= static_cast<std::int64_t>(bytes);
  }
  filled_ = kept + bytes;
  if (filled_ < wanted) std::memset(buffer_.data() + filled_, 0, wanted - filled_);
}

bool Postings::next_block() {
  if (left_ == 0) return false;
  size_ = std::min(left_, kBlock);
  fill(static_cast<std::size_t>(size_) * kMaxPosting);
  std::int64_t document = document_;
  const std::uint8_t* bytes = buffer_.data() + position_;
  if (frequencies_omitted_) {
    bytes = decode_documents(bytes, size_, document, documents_.data());
    std::fill_n(frequencies_.begin(), size_, 1);
  } else {
    bytes = kernels_.decode(bytes, size_, document, documents_.data(), frequencies_.data());
  }
  position_ = static_cast<std::size_t>(bytes - buffer_.data());
  // Documents ascend, so it is enough to check the last one. Its 64-bit number cannot overflow.
  if (document >= max_document_ || position_ > filled_) damaged();
  document_ = static_cast<std::int32_t>(document);
  left_ -= size_;
  return true;
}

}  // namespace relucent::bm25
