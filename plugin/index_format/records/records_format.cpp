#include "plugin/index_format/records/records_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/checksum.h"
#include "relucent/error.h"

namespace relucent::records {
namespace {

// Magic, version, length of the header, record_bytes, documents, contents, fingerprint.
constexpr std::uint64_t kFixed = kMagic.size() + 4 * 4 + 2 * 8;
static_assert(kFixed + kMaxRecordSettings + 1024 <= kMaxHeader);
constexpr std::uint64_t kSumBytes = 8;

template <typename Number>
void put(std::string& to, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

template <typename Number>
Number get(std::string_view bytes, std::uint64_t at) noexcept {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value |= static_cast<Number>(static_cast<Number>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i));
  }
  return value;
}

void put_text(std::string& to, std::string_view text) {
  put32(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

std::uint64_t sum_of_record(std::uint64_t header_sum, std::uint32_t document, std::string_view frame) {
  std::string start;
  put64(start, header_sum);
  put32(start, document);
  Checksum sum;
  sum.add(start);
  sum.add(frame);
  return sum.value();
}

/// Bytes that a record of this length takes.
std::uint64_t padded(const RecordsHeader& header, std::uint32_t length) noexcept {
  if (header.record_bytes != 0) return header.record_bytes;
  return length == kSkipped ? 0 : length;
}

}  // namespace

void put32(std::string& to, std::uint32_t value) { put(to, value); }
void put64(std::string& to, std::uint64_t value) { put(to, value); }
std::uint32_t get32(std::string_view bytes, std::uint64_t at) noexcept { return get<std::uint32_t>(bytes, at); }
std::uint64_t get64(std::string_view bytes, std::uint64_t at) noexcept { return get<std::uint64_t>(bytes, at); }

std::string header_bytes(const RecordsHeader& header, const RecordsKind& kind) {
  if (header.settings.size() > kMaxRecordSettings) {
    throw Error(ErrorKind::unsupported, kind.name,
                fmt::format("their settings take {} bytes of {}", header.settings.size(), kMaxRecordSettings),
                "shorten the fields' names");
  }
  std::string texts;
  put_text(texts, kind.name);
  put_text(texts, header.segment.name);
  put_text(texts, header.settings);
  std::string bytes(kMagic);
  put32(bytes, kVersion);
  put32(bytes, static_cast<std::uint32_t>(kFixed + texts.size() + kSumBytes));
  put32(bytes, header.record_bytes);
  put32(bytes, header.segment.documents);
  put64(bytes, header.segment.contents);
  put64(bytes, header.fingerprint);
  bytes += texts;
  put64(bytes, checksum(bytes));
  return bytes;
}

std::optional<ReadHeader> read_header(std::string_view bytes, std::string& problem) {
  const auto refuse = [&](std::string what) {
    problem = std::move(what);
    return std::nullopt;
  };
  if (!bytes.starts_with(kMagic)) return refuse("is not a file of records");
  if (bytes.size() < kMagic.size() + 8) return refuse("is truncated");
  const std::uint32_t version = get32(bytes, kMagic.size());
  if (version != kVersion) {
    return refuse(fmt::format("is of version {}, but this program reads version {}", version, kVersion));
  }
  ReadHeader read;
  read.size = get32(bytes, kMagic.size() + 4);
  if (read.size < kFixed + kSumBytes || read.size > kMaxHeader) return refuse("its header is damaged");
  if (read.size > bytes.size()) return refuse("is truncated");
  const std::string_view signed_bytes = bytes.substr(0, read.size - kSumBytes);
  read.sum = get64(bytes, signed_bytes.size());
  if (read.sum != checksum(signed_bytes)) return refuse("its header is damaged");
  // From here on, only a hostile program could have written something wrong.
  RecordsHeader& header = read.header;
  header.record_bytes = get32(bytes, kMagic.size() + 8);
  header.segment.documents = get32(bytes, kMagic.size() + 12);
  header.segment.contents = get64(bytes, kMagic.size() + 16);
  header.fingerprint = get64(bytes, kMagic.size() + 24);
  std::string_view texts = signed_bytes.substr(kFixed);
  for (std::string* text : {&read.kind, &header.segment.name, &header.settings}) {
    const std::uint64_t length = texts.size() < 4 ? texts.size() : get32(texts, 0);
    if (texts.size() < 4 || length > texts.size() - 4) return refuse("its header contradicts itself");
    *text = texts.substr(4, length);
    texts.remove_prefix(4 + length);
  }
  if (!texts.empty() || header.record_bytes > kMaxRecordBytes || header.settings.size() > kMaxRecordSettings ||
      header.segment.documents > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) {
    return refuse("its header contradicts itself");
  }
  return read;
}

void put_record(std::string& to, const RecordsHeader& header, std::uint64_t header_sum, std::uint32_t document,
                std::optional<std::string_view> record) {
  const std::size_t start = to.size();
  const std::uint32_t length = record ? static_cast<std::uint32_t>(record->size()) : kSkipped;
  put32(to, length);
  if (record) to += *record;
  to.resize(start + 4 + padded(header, length));
  put64(to, sum_of_record(header_sum, document, std::string_view(to).substr(start)));
}

std::optional<ReadRecord> read_record(std::string_view bytes, const RecordsHeader& header, std::uint64_t header_sum,
                                      std::uint32_t document) noexcept {
  if (bytes.size() < kRecordFrame) return std::nullopt;
  const std::uint32_t length = get32(bytes, 0);
  const bool known = length == 0 || length == kSkipped;
  if (!known && (header.record_bytes != 0 ? length != header.record_bytes : length > kMaxRecordBytes)) {
    return std::nullopt;
  }
  const std::uint64_t room = padded(header, length);
  if (room > bytes.size() - kRecordFrame) return std::nullopt;
  if (get64(bytes, 4 + room) != sum_of_record(header_sum, document, bytes.substr(0, 4 + room))) return std::nullopt;
  ReadRecord read{std::nullopt, room + kRecordFrame};
  if (length != kSkipped) read.record = bytes.substr(4, length);
  return read;
}

std::optional<FoundRecord> find_record(const RandomFile& file, std::uint64_t at, std::uint64_t end,
                                       const RecordsHeader& header, std::uint64_t header_sum, std::uint32_t document) {
  if (at > end || end - at < kRecordFrame) return std::nullopt;
  constexpr std::uint64_t most_at_first = 4096;  // enough for most records of varying lengths
  std::string bytes;
  const auto read = [&](std::uint64_t wanted) {
    bytes.resize(std::min(wanted, end - at));
    bytes.resize(file.read(static_cast<std::int64_t>(at), bytes.data(), bytes.size()));
  };
  read(header.record_bytes != 0 ? kRecordFrame + header.record_bytes : most_at_first);
  if (header.record_bytes == 0 && bytes.size() == most_at_first) {
    const std::uint64_t length = get32(bytes, 0);
    if (length <= kMaxRecordBytes && kRecordFrame + length > bytes.size()) read(kRecordFrame + length);
  }
  const auto found = read_record(bytes, header, header_sum, document);
  if (!found) return std::nullopt;
  return FoundRecord{found->record ? std::optional<std::string>(*found->record) : std::nullopt, found->size};
}

std::uint64_t end_mark(std::uint64_t header_sum, std::uint64_t file_size) {
  std::string bytes;
  put64(bytes, header_sum);
  put64(bytes, file_size);
  return checksum(bytes);
}

}  // namespace relucent::records
