#include "plugin/lucene/index/stored_fields.h"

#include <Document.h>
#include <Field.h>
#include <FieldInfo.h>
#include <FieldInfos.h>
#include <FieldSelector.h>
#include <FieldsReader.h>
#include <IndexInput.h>
#include <SegmentReader.h>
#include <fmt/core.h>

#include <algorithm>

#include "plugin/lucene/index/field_lengths.h"
#include "plugin/lucene/utf8_pieces.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

// Reading and checking a piece takes a fraction of a millisecond.
constexpr std::size_t kPiece = 256 << 10;

// Bits of a stored field in a .fdt file.
constexpr std::uint8_t kTokenized = 1, kBinary = 2;

/// Gives access to protected members of SegmentReader.
class Access : public Lucene::SegmentReader {
 public:
  static Lucene::FieldInfosPtr field_infos(Lucene::SegmentReader& reader) { return (reader.*&Access::fieldInfos)(); }
  /// The calling thread's reader.
  static Lucene::FieldsReaderPtr fields(Lucene::SegmentReader& reader) { return (reader.*&Access::getFieldsReader)(); }
};

[[noreturn]] void damaged(std::int32_t document) {
  throw Error(ErrorKind::invalid_data, fmt::format("document {}", document),
              "its stored fields cannot be read: the segment's .fdt or .fdx file is damaged",
              "check the index with `relucent verify`, then restore or rebuild it");
}

/// Reads one document's bytes in a .fdt file without trusting them.
class DocumentBytes {
 public:
  DocumentBytes(Lucene::FieldsReader& reader, std::int32_t document_in_segment, std::int32_t document)
      : document_(document) {
    auto lengths = Lucene::Collection<std::int32_t>::newInstance(1);
    input_ = reader.rawDocs(lengths, document_in_segment, 1);
    end_ = input_->getFilePointer() + lengths[0];
    if (lengths[0] < 1 || end_ > input_->length()) damaged(document_);
  }

  std::int32_t number() {
    if (left() < 1) damaged(document_);
    const std::int32_t value = input_->readVInt();
    if (value < 0 || left() < 0) damaged(document_);
    return value;
  }
  std::uint8_t byte() {
    if (left() < 1) damaged(document_);
    return input_->readByte();
  }
  /// The length of the following data, checked to lie inside the document.
  std::int64_t length() {
    const std::int32_t bytes = number();
    if (bytes > left()) damaged(document_);
    return bytes;
  }
  void skip(std::int64_t bytes) { input_->seek(input_->getFilePointer() + bytes); }
  void read(std::span<char> bytes) {
    input_->readBytes(reinterpret_cast<std::uint8_t*>(bytes.data()), 0, static_cast<std::int32_t>(bytes.size()));
  }

 private:
  std::int64_t left() { return end_ - input_->getFilePointer(); }

  Lucene::IndexInputPtr input_;
  std::int64_t end_;
  std::int32_t document_;
};

/// Reads `length` bytes, handing each piece to `take`.
template <typename Take>
void read_pieces(DocumentBytes& document, std::size_t length, std::string& room, const StopSignal& stop,
                 const Take& take) {
  while (length > 0) {
    stop.throw_if_due("reading the stored texts");
    room.resize(std::min(length, kPiece));
    document.read(room);
    length -= room.size();
    take(std::string_view(room));
  }
}

/// Appends a value of `length` bytes to `value`, up to the wanted size. Returns whether the field may have more wanted
/// bytes.
bool read_value(DocumentBytes& document, std::int64_t length, const WantedField& wanted, const StopSignal& stop,
                std::optional<std::string>& value, std::string& room) {
  const bool is_text = wanted.values != WantedField::Values::first_bytes;
  const auto bytes = static_cast<std::size_t>(length);
  if (is_text) {
    begin_stored_value(value, std::min(bytes, wanted.at_most));
  } else {
    value.emplace().reserve(std::min(bytes, wanted.at_most));
  }
  const std::size_t taken = std::min(bytes, wanted.at_most - value->size());
  if (is_text) {
    WellFormedText text(*value);
    read_pieces(document, taken, room, stop, [&](std::string_view piece) { text.add(piece); });
    if (taken == bytes) text.end();  // otherwise a character that was cut would count as malformed
  } else {
    read_pieces(document, taken, room, stop, [&](std::string_view piece) { *value += piece; });
  }
  document.skip(static_cast<std::int64_t>(bytes - taken));
  return taken == bytes && value->size() < wanted.at_most;
}

/// Loads the wanted fields and skips all others.
class OnlyWanted : public Lucene::FieldSelector {
 public:
  explicit OnlyWanted(std::span<const WantedField> wanted) : wanted_(wanted) {}
  FieldSelectorResult accept(const Lucene::String& field) override {
    const auto names_it = [&](const WantedField& one) { return one.name == field; };
    return std::any_of(wanted_.begin(), wanted_.end(), names_it) ? SELECTOR_LOAD : SELECTOR_NO_LOAD;
  }

 private:
  std::span<const WantedField> wanted_;
};

std::optional<std::string> first_bytes(const Lucene::DocumentPtr& document, const Lucene::String& name) {
  const Lucene::FieldablePtr stored = document->getFieldable(name);
  if (!stored || !stored->isBinary() || !stored->getBinaryValue()) return std::nullopt;
  const auto* bytes = reinterpret_cast<const char*>(stored->getBinaryValue().get()) + stored->getBinaryOffset();
  return std::string(bytes, static_cast<std::size_t>(stored->getBinaryLength()));
}

std::vector<std::optional<std::string>> values_of(const Lucene::DocumentPtr& document,
                                                  std::span<const WantedField> wanted) {
  std::vector<std::optional<std::string>> found;
  for (const WantedField& field : wanted) {
    switch (field.values) {
      case WantedField::Values::first_text: found.push_back(first_stored_text(document, to_utf8(field.name))); break;
      case WantedField::Values::all_texts: found.push_back(stored_text(document, to_utf8(field.name))); break;
      case WantedField::Values::first_bytes: found.push_back(first_bytes(document, field.name)); break;
    }
  }
  return found;
}

bool wanted_once(std::span<const WantedField> wanted) {
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    const auto same = [&](const WantedField& earlier) { return earlier.name == wanted[i].name; };
    if (std::any_of(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(i), same)) return false;
  }
  return true;
}

}  // namespace

StoredFields::StoredFields(const Lucene::SearcherPtr& searcher)
    : read_whole_([searcher](std::int32_t document, const Lucene::FieldSelectorPtr& fields) {
        return searcher->doc(document, fields);
      }) {}

StoredFields::StoredFields(const Lucene::IndexReaderPtr& reader)
    : read_whole_([reader](std::int32_t document, const Lucene::FieldSelectorPtr& fields) {
        return reader->document(document, fields);
      }) {
  std::int32_t first = 0;
  for (const auto& leaf : bm25::leaf_readers(reader)) {
    const auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf);
    // Lucene 2's formats may have compressed values and lengths in characters.
    if (!segment || !Access::fields(*segment)->canReadRawDocs()) {
      segments_.clear();
      return;
    }
    segments_.push_back({segment, first});
    first += leaf->maxDoc();
  }
}

/// Null if Lucene++ must read the document.
const StoredFields::Segment* StoredFields::segment_of(std::int32_t document) const {
  if (segments_.empty()) return nullptr;
  const std::int32_t documents = segments_.back().first + segments_.back().reader->maxDoc();
  if (document < 0 || document >= documents) {
    throw Error(ErrorKind::usage, fmt::format("document {}", document),
                fmt::format("does not exist in this index of {} documents", documents),
                "pass hits from a search of this index");
  }
  for (const Segment& segment : segments_) {
    if (document < segment.first + segment.reader->maxDoc()) return &segment;
  }
  return nullptr;
}

std::vector<std::optional<std::string>> StoredFields::read(std::int32_t document, std::span<const WantedField> wanted,
                                                           const StopSignal& stop) const {
  stop.throw_if_due("reading the stored texts");
  const Segment* const segment = wanted_once(wanted) ? segment_of(document) : nullptr;
  if (segment == nullptr) return values_of(read_whole_(document, Lucene::newLucene<OnlyWanted>(wanted)), wanted);

  const Lucene::FieldInfosPtr names = Access::field_infos(*segment->reader);
  DocumentBytes bytes(*Access::fields(*segment->reader), document - segment->first, document);
  std::vector<std::optional<std::string>> found(wanted.size());
  std::vector<bool> complete(wanted.size());
  std::string room;
  for (std::int32_t fields = bytes.number(); fields > 0; --fields) {
    const std::int32_t number = bytes.number();
    if (number >= names->size()) damaged(document);
    const Lucene::String name = names->fieldInfo(number)->name;
    const std::uint8_t bits = bytes.byte();
    if ((bits & ~(kTokenized | kBinary)) != 0) damaged(document);
    const std::int64_t length = bytes.length();
    const auto field = std::find_if(wanted.begin(), wanted.end(), [&](const auto& one) { return one.name == name; });
    const auto i = static_cast<std::size_t>(field - wanted.begin());
    const bool takes = field != wanted.end() && !complete[i] &&
                       (field->values != WantedField::Values::first_bytes || (bits & kBinary) != 0);
    if (!takes) {
      bytes.skip(length);
      continue;
    }
    const bool more = read_value(bytes, length, *field, stop, found[i], room);
    complete[i] = !more || field->values != WantedField::Values::all_texts;
  }
  return found;
}

}  // namespace relucent
