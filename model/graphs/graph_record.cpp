#include <fmt/core.h>

#include <limits>

#include "model/graphs/document_graph.h"
#include "relucent/error.h"

namespace relucent {
namespace {

class RecordWriter {
 public:
  void number(std::size_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
  }
  void bit(bool set) {
    if (bits_ == 0) bytes.push_back('\0');
    if (set) bytes.back() = static_cast<char>(static_cast<unsigned char>(bytes.back()) | 1U << bits_);
    bits_ = (bits_ + 1) % 8;
  }
  void end_bits() { bits_ = 0; }

  std::string bytes;

 private:
  unsigned bits_ = 0;  // used of the last byte
};

class RecordReader {
 public:
  RecordReader(std::string_view bytes, const std::string& place) : bytes_(bytes), place_(place) {}

  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(ErrorKind::invalid_data, place_, problem, "make the graphs again with `relucent graphs`");
  }
  /// At most `most`, which is less than 2^31.
  std::int32_t number(std::int64_t most, const char* what) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7FU) << shift;
      if ((next & 0x80U) == 0) {
        if (next == 0 && shift > 0) refuse("a number is longer than necessary");
        break;
      }
      if (shift == 28) refuse("a number is too long");
    }
    if (static_cast<std::int64_t>(value) > most) refuse(fmt::format("{} {} is more than {}", what, value, most));
    return static_cast<std::int32_t>(value);
  }
  bool bit() {
    if (bits_ == 0) last_ = byte();
    const bool set = (last_ >> bits_ & 1U) != 0;
    bits_ = (bits_ + 1) % 8;
    return set;
  }
  void end_bits() {
    while (bits_ != 0) {
      if (bit()) refuse("has bits after the last one");
    }
  }
  void end() const {
    if (at_ != bytes_.size()) refuse(fmt::format("has {} bytes too many", bytes_.size() - at_));
  }

 private:
  std::uint8_t byte() {
    if (at_ == bytes_.size()) refuse("ends too early");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }

  std::string_view bytes_;
  const std::string& place_;
  std::size_t at_ = 0;
  unsigned bits_ = 0;
  std::uint8_t last_ = 0;
};

}  // namespace

std::string encode_graph(const GraphSettings& settings, const DocumentGraph& graph) {
  RecordWriter writer;
  writer.number(static_cast<std::size_t>(graph.pieces));
  if (graph.pieces == 0) return writer.bytes;
  for (const bool starts : graph.sentence_starts) writer.bit(starts);
  writer.end_bits();
  writer.number(graph.mentions.size());
  std::int32_t end = 0;
  for (const Mention& mention : graph.mentions) {
    writer.number(static_cast<std::size_t>(mention.first - end));
    writer.number(static_cast<std::size_t>(mention.size));
    writer.number(static_cast<std::size_t>(mention.key));
    end = mention.first + mention.size;
  }
  const auto passages = static_cast<std::int32_t>(passages_of(settings, graph.pieces).size());
  auto link = graph.passage_links.begin();
  for (std::int32_t i = 0; i < passages; ++i) {
    for (std::int32_t j = i + 1; j < passages; ++j) {
      const bool linked = link != graph.passage_links.end() && *link == std::pair(i, j);
      writer.bit(linked);
      if (linked) ++link;
    }
  }
  return writer.bytes;
}

DocumentGraph decode_graph(const GraphSettings& settings, std::string_view bytes, const std::string& place) {
  RecordReader reader(bytes, place);
  DocumentGraph graph;
  graph.pieces = reader.number(settings.max_document_tokens, "the number of pieces");
  if (graph.pieces == 0) {
    reader.end();
    return graph;
  }
  // A bit per piece must follow, so the bytes bound the memory.
  if (static_cast<std::size_t>(graph.pieces) / 8 > bytes.size()) reader.refuse("ends too early");
  graph.sentence_starts.resize(static_cast<std::size_t>(graph.pieces));
  for (std::size_t i = 0; i < graph.sentence_starts.size(); ++i) graph.sentence_starts[i] = reader.bit();
  reader.end_bits();
  if (!graph.sentence_starts.front()) reader.refuse("no sentence starts at the first piece");
  const std::int32_t mentions = reader.number(settings.max_token_nodes, "the number of mentions");
  std::int32_t end = 0, keys = 0;
  for (std::int32_t i = 0; i < mentions; ++i) {
    Mention mention;
    mention.first = end + reader.number(graph.pieces - end - 1, "the distance of a mention");
    mention.size = reader.number(graph.pieces - mention.first, "the size of a mention");
    mention.key = reader.number(keys, "the key of a mention");
    end = mention.first + mention.size;
    const auto [first, last] = passages_with(settings, graph.pieces, mention.first, end);
    if (mention.size == 0 || first >= last) reader.refuse(fmt::format("mention {} is in no passage", i));
    keys += mention.key == keys ? 1 : 0;
    graph.mentions.push_back(mention);
  }
  const auto passages = static_cast<std::int32_t>(passages_of(settings, graph.pieces).size());
  for (std::int32_t i = 0; i < passages; ++i) {
    for (std::int32_t j = i + 1; j < passages; ++j) {
      if (reader.bit()) graph.passage_links.emplace_back(i, j);
    }
  }
  reader.end_bits();
  reader.end();
  return graph;
}

}  // namespace relucent
