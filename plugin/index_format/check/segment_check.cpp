#include "plugin/index_format/check/segment_check.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <limits>

namespace relucent::check {
namespace {

constexpr std::int32_t kFieldsFormat = -2;
constexpr std::uint8_t kIndexed = 0x01, kNoNorms = 0x10, kPayloads = 0x20, kNoFrequencies = 0x40;
constexpr std::int64_t kNormsHeader = 4;

/// Stored fields: format 1 has UTF-8 lengths in bytes, format 2 has no compressed fields.
constexpr std::int32_t kFirstStoredFormat = 1, kLastStoredFormat = 2;
constexpr std::uint8_t kCompressed = 0x04, kAllBits = 0x07;

/// Norms rewritten after the segment was written, per field.
void check_rewritten_norms(const SegmentFiles& files, const std::vector<FieldEntry>& fields) {
  const SegmentEntry& entry = files.entry();
  if (!entry.norms) return;
  for (std::size_t i = 0; i < entry.norms->size(); ++i) {
    const std::int64_t generation = (*entry.norms)[i];
    if (generation < 0 || (generation == 0 && entry.compound != 0)) continue;
    const std::string name = with_generation(entry.name, fmt::format(".s{}", i), generation);
    FileWindow norms = files.open_loose(name);
    if (norms.length() < entry.documents) norms.damaged("has fewer norms than documents");
  }
  if (entry.norms->size() < fields.size()) {
    files.open("fnm").damaged("has more fields than the list of segments states");
  }
}

}  // namespace

std::vector<FieldEntry> check_fields(const SegmentFiles& files) {
  FileWindow in = files.open("fnm");
  std::uint32_t size = in.number();
  if (static_cast<std::int32_t>(size) < 0) {
    if (static_cast<std::int32_t>(size) != kFieldsFormat) in.damaged("the list of fields has an unknown format");
    size = in.number();
  }
  if (size > in.left() / 2) in.damaged(fmt::format("the number of fields ({}) is out of range", size));
  std::vector<FieldEntry> fields;
  for (std::uint32_t i = 0; i < size; ++i) {
    FieldEntry field;
    field.name = in.string();
    const std::uint8_t bits = in.byte();
    if ((bits & 0x80) != 0) in.damaged("a field has unknown properties");
    field.indexed = (bits & kIndexed) != 0;
    field.no_norms = (bits & kNoNorms) != 0;
    field.payloads = (bits & kPayloads) != 0;
    field.no_frequencies = (bits & kNoFrequencies) != 0;
    fields.push_back(std::move(field));
  }
  if (in.left() != 0) in.damaged("unexpected data follows the list of fields");
  return fields;
}

void check_stored_fields(const SegmentFiles& files, const std::vector<FieldEntry>& fields) {
  FileWindow index = files.open_stored("fdx"), documents = files.open_stored("fdt");
  const SegmentEntry& entry = files.entry();
  const std::int32_t format = index.int32();
  if (format < kFirstStoredFormat || format > kLastStoredFormat) {
    index.damaged(fmt::format("the stored fields' format ({}) is damaged or not from Lucene 2.4 to 3.0", format));
  }
  if (documents.int32() != format) documents.damaged("the stored fields' format differs from their index's");
  const std::int64_t all = index.left() / 8, first = entry.first_stored == -1 ? 0 : entry.first_stored;
  if (index.left() % 8 != 0 || first + entry.documents > all || (entry.first_stored == -1 && all != entry.documents)) {
    index.damaged(fmt::format("has {} documents, not {}", all, entry.documents));
  }
  index.skip(8 * first);
  for (std::int32_t i = 0; i < entry.documents; ++i) {
    const std::int64_t start = index.int64();
    // Documents are contiguous; only those of other segments may precede the first.
    if (i == 0 && first > 0) documents.seek(start);
    if (start != documents.position()) index.damaged("a document does not begin at its recorded offset");
    for (std::int64_t left = documents.count(documents.left(), "a document's number of fields"); left > 0; --left) {
      const std::uint32_t field = documents.number();
      if (field >= fields.size()) documents.damaged(fmt::format("field {} does not exist", field));
      const std::uint8_t bits = documents.byte();
      if ((bits & ~kAllBits) != 0 || (format == kLastStoredFormat && (bits & kCompressed) != 0)) {
        documents.damaged("a stored field has an unknown type");
      }
      documents.skip(documents.count(documents.left(), "a stored field's length"));
    }
  }
  const std::int64_t end = first + entry.documents < all ? index.int64() : documents.length();
  if (end != documents.position()) documents.damaged("a document does not end where the next one begins");
}

void check_norms(const SegmentFiles& files, const std::vector<FieldEntry>& fields) {
  const SegmentEntry& entry = files.entry();
  std::int64_t with_norms = 0;
  for (const FieldEntry& field : fields) with_norms += field.indexed && !field.no_norms ? 1 : 0;
  if (entry.one_norms_file && with_norms > 0) {
    FileWindow norms = files.open("nrm");
    if (norms.length() < kNormsHeader + with_norms * entry.documents) norms.damaged("has fewer norms than documents");
  } else if (!entry.one_norms_file) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i].indexed || fields[i].no_norms) continue;
      if (entry.norms && i < entry.norms->size() && (*entry.norms)[i] > 0) continue;
      FileWindow norms = files.open(fmt::format("f{}", i));
      if (norms.length() < entry.documents) norms.damaged("has fewer norms than documents");
    }
  }
  check_rewritten_norms(files, fields);
}

void check_deletions(const SegmentFiles& files) {
  const SegmentEntry& entry = files.entry();
  if (entry.deletions < 0 || (entry.deletions == 0 && entry.compound != 0)) return;
  FileWindow in = files.open_loose(with_generation(entry.name, ".del", entry.deletions));
  std::int32_t size = in.int32();
  const bool gaps = size == -1;
  if (gaps) size = in.int32();
  if (size != entry.documents) in.damaged(fmt::format("is for {} documents, not {}", size, entry.documents));
  const std::int32_t count = in.int32();
  std::int64_t seen = 0;
  if (gaps) {
    const std::int64_t last_byte = size >> 3;
    for (std::int64_t at = 0; seen < count;) {
      at += in.count(last_byte - at, "a gap");
      const std::uint8_t bits = in.byte();
      if (bits == 0) in.damaged("a gap leads to an empty byte");
      seen += std::popcount(bits);
    }
  } else {
    std::string bits;
    in.append(bits, (size >> 3) + 1);
    for (const char byte : bits) seen += std::popcount(static_cast<unsigned char>(byte));
  }
  if (seen != count || (entry.deleted != -1 && seen != entry.deleted) || in.left() != 0) {
    in.damaged("the number of deleted documents differs from the recorded one");
  }
}

void check_segment(const std::filesystem::path& folder, const SegmentEntry& entry) {
  const SegmentFiles files(folder, entry);
  const auto fields = check_fields(files);
  check_norms(files, fields);
  check_deletions(files);
  check_terms(files, fields);
  check_stored_fields(files, fields);
}

void check_generations(const std::filesystem::path& folder, const SegmentEntry& entry) {
  const SegmentFiles files(folder, entry);
  check_rewritten_norms(files, check_fields(files));
  check_deletions(files);
}

}  // namespace relucent::check
