#include "model/tokenizer/sentencepiece_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "model/tokenizer/precompiled_charsmap.h"
#include "model/tokenizer/vocabulary_trie.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, in pieces

/// The fields of a message of Protocol Buffers' wire format, one after the other.
class Message {
 public:
  struct Field {
    std::uint32_t number = 0;
    std::uint64_t value = 0;  ///< of a number; a float's bits
    std::string_view bytes;   ///< of a string or message
  };

  /// `offset` is the place of `bytes` in the file.
  Message(const std::filesystem::path& path, std::string_view bytes, std::size_t offset)
      : path_(path), bytes_(bytes), offset_(offset) {}

  /// nullopt at the end.
  std::optional<Field> next() {
    if (at_ == bytes_.size()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field{static_cast<std::uint32_t>(tag >> 3), 0, {}};
    switch (tag & 7) {
      case 0: field.value = varint(); break;
      case 1: field.bytes = take(8); break;
      case 2: field.bytes = take(varint()); break;
      case 5:
        for (int i = 0; const char byte : take(4)) {
          field.value |= std::uint64_t{static_cast<std::uint8_t>(byte)} << 8 * i++;
        }
        break;
      default: fail("is not a SentencePiece model");
    }
    return field;
  }

  /// The fields of `field`, which next() returned last.
  Message inside(const Field& field) const { return {path_, field.bytes, offset_ + at_ - field.bytes.size()}; }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::invalid_data, fmt::format("{}, byte {}", path_.string(), offset_ + at_), problem,
                "download the file again");
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    fail("is not a SentencePiece model");
  }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail("ends too early");
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  const std::filesystem::path& path_;
  std::string_view bytes_;
  std::size_t offset_, at_ = 0;
};

class Checker {
 public:
  Checker(const std::filesystem::path& path, std::string_view bytes) : whole_(path, bytes, 0) {}

  SentencePieceFile check() {
    bool has_trainer = false, has_normalizer = false;
    while (const auto field = whole_.next()) {
      if (field->number == 1) check_piece(whole_.inside(*field));
      if (field->number == 2) has_trainer = true, read_trainer(whole_.inside(*field));
      if (field->number == 3) has_normalizer = true, check_normalizer(whole_.inside(*field));
      if (field->number == 5) check_normalizer(whole_.inside(*field), true);
    }
    // Both stand behind the pieces.
    if (!has_trainer || !has_normalizer || file_.pieces.empty()) whole_.fail("ends too early");
    check_nesting();
    file_.may_cut = may_cut_ && words_only_;
    return std::move(file_);
  }

 private:
  void check_piece(Message piece) {
    constexpr std::uint64_t kUserDefined = 4;
    std::string_view text;
    std::uint64_t type = 1;
    float score = 0;
    while (const auto field = piece.next()) {
      if (field->number == 1) text = field->bytes;
      if (field->number == 2) score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
      if (field->number == 3) type = field->value;
    }
    const auto fail = [&](const char* problem) {
      whole_.fail(fmt::format("the piece {} {}", file_.pieces.size(), problem));
    };
    if (text.empty() || text.size() > VocabularyTrie::kMaxEntryBytes) fail("is empty or longer than 1024 bytes");
    if (!is_well_formed_utf8(text) || text.find('\0') != std::string_view::npos) fail("is not text in UTF-8");
    if (!std::isfinite(score)) fail("has a score that is not finite");
    if (type == kUserDefined) user_defined_.push_back(text);
    // Across a space there is no piece.
    if (text.find(kSpaceMark, 1) != std::string_view::npos) words_only_ = false;
    file_.pieces.push_back({text, score, static_cast<SentencePiecePiece::Type>(std::min<std::uint64_t>(type, 16))});
  }

  void read_trainer(Message trainer) {
    while (const auto field = trainer.next()) {
      if (field->number == 3) file_.unigram = field->value == 1;
      if (field->number == 24 && field->value != 0) words_only_ = false;  // the space is at a word's end
    }
  }

  void check_normalizer(Message normalizer, bool reverse = false) {
    bool prefix = true, no_extra_spaces = true, escape = true;
    while (const auto field = normalizer.next()) {
      if (field->number == 2 && !field->bytes.empty()) {
        const auto map = PrecompiledCharsmap::parse(field->bytes);
        constexpr std::size_t kMostMatches = 32;  // the library's array
        if (!map || !map->nests_at_most(kMostMatches)) {
          normalizer.fail("the table of replacements is damaged, or has one of more than 128 bytes");
        }
        if (!reverse && !map->keeps_words_apart()) words_only_ = false;
        if (!reverse) file_.charsmap = field->bytes;
      }
      if (field->number == 3) prefix = field->value != 0;
      if (field->number == 4) no_extra_spaces = field->value != 0;
      if (field->number == 5) escape = field->value != 0;
    }
    if (!reverse) may_cut_ = prefix && no_extra_spaces && escape;
  }

  /// The library has room for 64 user-defined pieces that begin with each other.
  void check_nesting() {
    constexpr std::size_t kMost = 64;
    std::size_t bytes = 0;
    for (const std::string_view piece : user_defined_) bytes += piece.size();
    if (bytes > VocabularyTrie::kMaxBytes) whole_.fail("has too many user-defined pieces");
    const VocabularyTrie trie(user_defined_);
    for (const std::string_view piece : user_defined_) {
      std::uint32_t node = VocabularyTrie::kRoot;
      std::size_t nested = 0;
      for (const char byte : piece) {
        node = trie.child(node, byte);
        if (trie.id(node) >= 0) ++nested;
      }
      if (nested > kMost) whole_.fail("has more than 64 user-defined pieces that begin with each other");
    }
  }

  Message whole_;
  SentencePieceFile file_;
  std::vector<std::string_view> user_defined_;
  bool may_cut_ = true, words_only_ = true;
};

}  // namespace

SentencePieceFile check_sentencepiece_file(const std::filesystem::path& path, std::string_view bytes) {
  return Checker(path, bytes).check();
}

}  // namespace relucent
