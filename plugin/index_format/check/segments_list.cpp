#include "plugin/index_format/check/segments_list.h"

#include <fmt/core.h>

#include <boost/crc.hpp>
#include <limits>
#include <memory>

#include "plugin/index_format/check/file_window.h"
#include "relucent/error.h"

namespace relucent::check {
namespace {

// Formats count downwards. Before kFirst no file was called segments_N.
constexpr std::int32_t kFirst = -2, kOneNormsFile = -3, kSharedStores = -4, kChecksum = -5, kDeletedCount = -6,
                       kHasProx = -7, kUserData = -8, kDiagnostics = -9, kLast = kDiagnostics;

/// A segment takes a few hundred bytes, and the data of the commit's writer not many more.
constexpr std::int64_t kMaxListBytes = std::int64_t{64} << 20;

/// Segments that may have been written to an index since it was new: the numbers in their names may not overflow.
constexpr std::int32_t kMostSegments = 1 << 30;

bool is_segment_name(const std::string& name) {
  return name.size() > 1 && name.size() < 64 && name[0] == '_' &&
         name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz", 1) == std::string::npos;
}

class List {
 public:
  explicit List(const std::filesystem::path& path)
      : file_(std::make_shared<RandomFile>(path)), in_(file_, 0, file_->size(), path.filename().string()) {}

  std::vector<SegmentEntry> read() {
    if (in_.length() > kMaxListBytes)
      in_.damaged(fmt::format("the list of segments is larger than {} bytes", kMaxListBytes));
    format_ = in_.int32();
    if (format_ > kFirst || format_ < kLast) {
      in_.damaged("the list of segments is damaged or not from Lucene 2.1 to 3.0");
    }
    check_sum();
    in_.skip(8);  // version
    const std::int32_t next = in_.int32();
    if (next < 0 || next > kMostSegments)
      in_.damaged(fmt::format("the number of the next segment ({}) is out of range", next));
    const std::int32_t count = in_.int32();
    if (count < 0) in_.damaged(fmt::format("the number of segments ({}) is out of range", count));
    std::vector<SegmentEntry> segments;
    for (std::int32_t i = 0; i < count; ++i) {
      segments.push_back(segment());
      documents_ += segments.back().documents;
      if (documents_ > std::numeric_limits<std::int32_t>::max())
        in_.damaged("has more documents than an index can have");
    }
    if (format_ <= kDiagnostics) {
      skip_map();
    } else if (format_ <= kUserData && in_.byte() != 0) {
      in_.string();
    }
    if (in_.left() != (format_ <= kChecksum ? 8 : 0)) in_.damaged("the list of segments has the wrong length");
    return segments;
  }

 private:
  void check_sum() {
    if (format_ > kChecksum) return;
    if (in_.left() < 8) in_.damaged("the file ends too early");
    in_.seek(0);
    std::string bytes;
    in_.append(bytes, in_.length() - 8);
    boost::crc_32_type sum;
    sum.process_bytes(bytes.data(), bytes.size());
    if (static_cast<std::uint64_t>(in_.int64()) != sum.checksum()) in_.damaged("the list of segments is damaged");
    in_.seek(4);
  }

  SegmentEntry segment() {
    SegmentEntry entry;
    entry.name = segment_name();
    entry.stored_segment = entry.name;
    entry.documents = in_.int32();
    if (entry.documents < 0)
      in_.damaged(fmt::format("a segment's number of documents ({}) is out of range", entry.documents));
    entry.deletions = generation();
    if (format_ <= kSharedStores) {
      entry.first_stored = in_.int32();
      if (entry.first_stored < -1) in_.damaged("the start of shared stored fields is out of range");
      if (entry.first_stored != -1) {
        entry.stored_segment = segment_name();
        entry.stored_compound = in_.byte() == 1;
      }
    }
    entry.one_norms_file = format_ <= kOneNormsFile && in_.byte() == 1;
    const std::int32_t norms = in_.int32();
    if (norms < -1 || norms > in_.left() / 8)
      in_.damaged(fmt::format("the number of fields ({}) is out of range", norms));
    if (norms >= 0) entry.norms.emplace();
    for (std::int32_t i = 0; i < norms; ++i) entry.norms->push_back(generation());
    entry.compound = static_cast<std::int8_t>(in_.byte());
    if (entry.compound < -1 || entry.compound > 1) in_.damaged("a segment has an unknown compound flag");
    if (format_ <= kDeletedCount) {
      entry.deleted = in_.int32();
      if (entry.deleted < -1 || entry.deleted > entry.documents) {
        in_.damaged(fmt::format("a segment of {} documents states {} deleted ones", entry.documents, entry.deleted));
      }
    }
    if (format_ <= kHasProx) in_.byte();
    if (format_ <= kDiagnostics) skip_map();
    return entry;
  }

  std::string segment_name() {
    std::string name = in_.string();
    if (!is_segment_name(name)) in_.damaged("a segment's name is invalid");
    return name;
  }
  std::int64_t generation() {
    const std::int64_t generation = in_.int64();
    if (generation < -1) in_.damaged(fmt::format("a file's generation ({}) is out of range", generation));
    return generation;
  }
  void skip_map() {
    const std::int32_t count = in_.int32();
    for (std::int32_t i = 0; i < count; ++i) {
      in_.string();
      in_.string();
    }
  }

  std::shared_ptr<const RandomFile> file_;
  FileWindow in_;
  std::int32_t format_ = 0;
  std::int64_t documents_ = 0;
};

}  // namespace

std::vector<SegmentEntry> read_segments_list(const std::filesystem::path& file) { return List(file).read(); }

std::string with_generation(const std::string& base, const std::string& extension, std::int64_t generation) {
  if (generation < 0) return {};
  if (generation == 0) return base + extension;
  std::string digits;
  for (auto left = generation; left > 0; left /= 36) {
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[left % 36]);
  }
  return fmt::format("{}_{}{}", base, digits, extension);
}

}  // namespace relucent::check
