#include "bm25/sidecar.h"

#include <Directory.h>
#include <SegmentInfo.h>
#include <SegmentReader.h>

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "relucent/stored_text.h"

namespace relucent::bm25 {
namespace {

constexpr char kMagic[] = "relucent lengths 1\n";

/// FNV-1a over eight bytes at a time, the length last.
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

}  // namespace

Sidecar::Sidecar(const std::filesystem::path& folder, const std::string& field, std::string identity)
    : file_(folder / ("relucent-" + safe_file_name(field) + ".lengths")),
      identity_(field + '\n' + std::move(identity)) {}

std::optional<FieldLengths> Sidecar::read() const {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file_, error)) return std::nullopt;
  std::ifstream file(file_, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() < sizeof kMagic - 1 + 8) return std::nullopt;
  const std::string_view body(bytes.data(), bytes.size() - 8);
  if (Reader(std::string_view(bytes).substr(body.size())).number() != checksum(body)) return std::nullopt;
  Reader reader(body);
  if (reader.take(sizeof kMagic - 1) != kMagic) return std::nullopt;
  if (reader.take(reader.number()) != identity_) return std::nullopt;
  FieldLengths lengths;
  lengths.statistics.document_count = static_cast<std::int64_t>(reader.number());
  lengths.statistics.sum_total_term_freq = static_cast<std::int64_t>(reader.number());
  const std::uint64_t leaves = reader.number();
  for (std::uint64_t i = 0; i < leaves && i < bytes.size(); ++i) {
    const std::string_view leaf = reader.take(reader.number());
    lengths.leaves.emplace_back(leaf.begin(), leaf.end());
  }
  if (!reader.good_and_empty()) return std::nullopt;
  return lengths;
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
  const std::filesystem::path temporary = file_.string() + "." + std::to_string(getpid()) + ".tmp";
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      std::filesystem::remove(temporary, error);
      return false;
    }
  }
  std::filesystem::rename(temporary, file_, error);
  if (!error) return true;
  std::filesystem::remove(temporary, error);
  return false;
}

std::string index_identity(const std::vector<Lucene::IndexReaderPtr>& leaves) {
  std::ostringstream identity;
  for (const auto& leaf : leaves) {
    const auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf);
    if (!segment) return {};
    identity << to_utf8(segment->getSegmentName()) << ' ' << segment->maxDoc() << ' ' << segment->getUniqueTermCount();
    std::int64_t bytes = 0;
    for (const auto& file : segment->getSegmentInfo()->files()) {
      // Deletions and rewritten norms get new files but change no length.
      const std::string name = to_utf8(file);
      const std::string extension = name.substr(std::min(name.rfind('.'), name.size()));
      if (extension == ".del" || (extension.size() > 2 && extension[1] == 's')) continue;
      bytes += segment->directory()->fileLength(file);
    }
    identity << ' ' << bytes << '\n';
  }
  return identity.str();
}

}  // namespace relucent::bm25
