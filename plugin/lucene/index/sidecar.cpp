#include "plugin/lucene/index/sidecar.h"

#include <SegmentInfo.h>
#include <SegmentReader.h>
#include <fmt/core.h>

#include <cstring>
#include <set>

#include "base/file/atomic_file.h"
#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "plugin/index_format/check/file_state.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent::bm25 {
namespace {

constexpr const char* kPrefix = "relucent-";
constexpr const char* kSuffix = ".lengths";
constexpr char kMagic[] = "relucent lengths 2\n";
/// Bytes in the name of a field of an index that Relucent opens: file names, which contain it, are shorter.
constexpr std::size_t kMaxFieldName = 256;

/// A variant of FNV-1a over words of eight bytes, then the remaining bytes and the length.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x100000001B3ULL;
    hash ^= hash >> 29;
  };
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  for (; i < bytes.size(); ++i) mix(static_cast<unsigned char>(bytes[i]));
  mix(bytes.size());
  return hash;
}

void put(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::string_view bytes = take(8);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return value;
  }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  bool good_and_empty() const { return good_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

std::string safe_file_name(const std::string& field) {
  std::string name;
  for (const char c : field) name.push_back(c == '/' || c == '\0' ? '_' : c);
  return name;
}

/// Empty if the file cannot be read or is larger than `max_bytes`.
std::string readable_bytes(const std::filesystem::path& path, std::size_t max_bytes) {
  try {
    return read_file(path, max_bytes);
  } catch (const Error&) {
    return {};
  }
}

/// The first bytes; none if the file cannot be read.
std::string first_bytes(const std::filesystem::path& path, std::size_t count) {
  try {
    const UniqueFd file = open_regular_file(path);
    std::string bytes(count, '\0');
    bytes.resize(read_some(file.get(), bytes.data(), bytes.size(), path));
    return bytes;
  } catch (const Error&) {
    return {};
  }
}

/// The size of a file whose lengths are those of `leaves`, with `identity` bytes for the field and the index.
std::size_t bytes_of_lengths(const std::vector<Lucene::IndexReaderPtr>& leaves, std::size_t identity) {
  constexpr std::size_t numbers = 5;  // the identity's length, two statistics, the count of leaves, the checksum
  std::size_t bytes = sizeof kMagic - 1 + identity + 8 * (numbers + leaves.size());
  for (const auto& leaf : leaves) bytes += static_cast<std::size_t>(leaf->maxDoc());
  return bytes;
}

/// What a file is of which Sidecar::read() returned nothing.
LengthsFile::State state_of_unread(const std::filesystem::path& path, std::size_t max_bytes,
                                   std::string_view identity) {
  const std::string start = first_bytes(path, sizeof kMagic - 1 + 8 + kMaxFieldName + identity.size());
  std::error_code failure;
  const bool of_larger_index = std::filesystem::file_size(path, failure) > max_bytes && !failure &&
                               start.starts_with(kMagic) && start.find(identity) == std::string::npos;
  return of_larger_index || start.starts_with("relucent lengths 1\n") ? LengthsFile::State::stale
                                                                      : LengthsFile::State::wrong;
}

}  // namespace

Sidecar::Sidecar(const std::filesystem::path& folder, const std::string& field, std::string_view identity)
    : file_(folder / fmt::format("{}{}{}", kPrefix, safe_file_name(field), kSuffix)),
      identity_(fmt::format("{}\n{}", field, identity)) {}

std::optional<Sidecar::Content> Sidecar::read(const std::filesystem::path& path, std::size_t max_bytes) {
  const std::string bytes = readable_bytes(path, max_bytes);
  if (bytes.size() < sizeof kMagic - 1 + 8) return std::nullopt;
  const std::string_view body(bytes.data(), bytes.size() - 8);
  if (Reader(std::string_view(bytes).substr(body.size())).number() != checksum(body)) return std::nullopt;
  Reader reader(body);
  if (reader.take(sizeof kMagic - 1) != kMagic) return std::nullopt;
  const std::string_view whose = reader.take(reader.number());
  const std::size_t end_of_field = std::min(whose.find('\n'), whose.size());
  Content content{std::string(whose.substr(0, end_of_field)), std::string(whose.substr(end_of_field)), {}};
  FieldLengths& lengths = content.lengths;
  lengths.statistics.document_count = static_cast<std::int64_t>(reader.number());
  lengths.statistics.sum_total_term_freq = static_cast<std::int64_t>(reader.number());
  const std::uint64_t leaves = reader.number();
  for (std::uint64_t i = 0; i < leaves && i < bytes.size(); ++i) {
    const std::string_view leaf = reader.take(reader.number());
    lengths.leaves.emplace_back(leaf.begin(), leaf.end());
  }
  if (!reader.good_and_empty()) return std::nullopt;
  return content;
}

std::optional<FieldLengths> Sidecar::read(const std::vector<Lucene::IndexReaderPtr>& leaves) const {
  std::optional<Content> content = read(file_, bytes_of_lengths(leaves, identity_.size()));
  if (!content || content->field + content->identity != identity_) return std::nullopt;
  return std::move(content->lengths);
}

bool Sidecar::write(const FieldLengths& lengths) const {
  std::string bytes = kMagic;
  put(bytes, identity_.size());
  bytes += identity_;
  put(bytes, static_cast<std::uint64_t>(lengths.statistics.document_count));
  put(bytes, static_cast<std::uint64_t>(lengths.statistics.sum_total_term_freq));
  put(bytes, lengths.leaves.size());
  for (const auto& leaf : lengths.leaves) {
    put(bytes, leaf.size());
    bytes.append(leaf.begin(), leaf.end());
  }
  put(bytes, checksum(bytes));
  try {
    write_file_atomically(file_, bytes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string index_identity(const std::filesystem::path& folder, const std::vector<Lucene::IndexReaderPtr>& leaves) {
  std::string identity;
  for (const auto& leaf : leaves) {
    const auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf);
    if (!segment) return {};
    identity += fmt::format("{} {}\n", to_utf8(segment->getSegmentName()), segment->maxDoc());
    std::set<std::string> names;
    for (const auto& file : segment->getSegmentInfo()->files()) names.insert(to_utf8(file));
    for (const auto& name : names) {
      // Deletions and rewritten norms get new files but change no length.
      const std::string extension = name.substr(std::min(name.rfind('.'), name.size()));
      if (extension == ".del" || (extension.size() > 2 && extension[1] == 's')) continue;
      identity += fmt::format("{} {}\n", name, to_string(file_state(folder / name)));
    }
  }
  return identity;
}

std::vector<LengthsFile> check_sidecars(const std::filesystem::path& folder,
                                        const std::vector<Lucene::IndexReaderPtr>& leaves) {
  std::vector<LengthsFile> files;
  const std::string identity = '\n' + index_identity(folder, leaves);
  const std::size_t max_bytes = bytes_of_lengths(leaves, kMaxFieldName + identity.size());
  for (const FolderEntry& entry : entries_of(folder)) {
    LengthsFile file{entry.name, LengthsFile::State::right};
    if (!file.name.starts_with(kPrefix) || !file.name.ends_with(kSuffix)) continue;
    const auto content = Sidecar::read(folder / entry.name, max_bytes);
    if (!content) {
      file.state = state_of_unread(folder / entry.name, max_bytes, identity);
    } else if (content->identity != identity) {
      file.state = LengthsFile::State::stale;
    } else {
      const FieldLengths counted = count_lengths(leaves, to_lucene(content->field));
      const bool same = counted.leaves == content->lengths.leaves &&
                        counted.statistics.document_count == content->lengths.statistics.document_count &&
                        counted.statistics.sum_total_term_freq == content->lengths.statistics.sum_total_term_freq;
      if (!same) file.state = LengthsFile::State::wrong;
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace relucent::bm25
