#include "model/tokenizer/pre_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "model/tokenizer/byte_level.h"
#include "model/tokenizer/character_table.h"
#include "model/tokenizer/text_cuts.h"

namespace relucent {
namespace {

/// What becomes of a delimiter.
enum class Behavior { removed, isolated, contiguous, merged_with_previous, merged_with_next };

Behavior read_behavior(const Component& part) {
  const std::string name = part.string("behavior", "Isolated");
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "Contiguous") return Behavior::contiguous;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  part.at("behavior").refuse(fmt::format("the behavior {} is not supported", name));
}

/// A part of a piece: a delimiter, or what stands between two.
struct Part {
  TextRange range;
  bool delimiter;
};

/// Appends the pieces into which a piece with these parts is split.
void append_split(const std::vector<Part>& parts, Behavior behavior, std::vector<TextRange>& out) {
  const std::size_t before = out.size();
  bool previous = false;
  switch (behavior) {
    case Behavior::removed:
      for (const Part& part : parts) {
        if (!part.delimiter) out.push_back(part.range);
      }
      break;
    case Behavior::isolated:
      for (const Part& part : parts) out.push_back(part.range);
      break;
    case Behavior::contiguous:
    case Behavior::merged_with_previous:
      for (const Part& part : parts) {
        const bool joins = behavior == Behavior::contiguous ? part.delimiter == previous : part.delimiter && !previous;
        if (joins && out.size() > before) {
          out.back().end = part.range.end;
        } else {
          out.push_back(part.range);
        }
        previous = part.delimiter;
      }
      break;
    case Behavior::merged_with_next:
      for (std::size_t i = parts.size(); i-- > 0;) {
        if (parts[i].delimiter && !previous && out.size() > before) {
          out.back().begin = parts[i].range.begin;
        } else {
          out.push_back(parts[i].range);
        }
        previous = parts[i].delimiter;
      }
      std::reverse(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
      break;
  }
  const auto is_empty = [](const TextRange& range) { return range.begin == range.end; };
  out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), is_empty), out.end());
}

/// Splits every piece; `add_parts(piece, parts)` appends the parts of the text's range `piece`.
template <typename AddParts>
void split(Pieces& pieces, Behavior behavior, const AddParts& add_parts) {
  std::vector<TextRange> ranges;
  ranges.reserve(pieces.ranges.size() * 2);
  std::vector<Part> parts;
  for (const TextRange& piece : pieces.ranges) {
    parts.clear();
    add_parts(piece, parts);
    append_split(parts, behavior, ranges);
  }
  if (pieces.from_start && !pieces.ranges.empty()) {
    pieces.from_start = !ranges.empty() && ranges.front().begin == pieces.ranges.front().begin;
  }
  pieces.ranges = std::move(ranges);
}

/// The same, every code point of which `is_delimiter` is true being a delimiter.
template <typename IsDelimiter>
void split_at(Pieces& pieces, Behavior behavior, const IsDelimiter& is_delimiter) {
  split(pieces, behavior, [&](const TextRange& piece, std::vector<Part>& parts) {
    std::size_t begin = piece.begin;
    for (std::size_t at = piece.begin; at < piece.end;) {
      const std::size_t character = at;
      if (!is_delimiter(next_code_point(pieces.text, at))) continue;
      if (begin < character) parts.push_back({{begin, character}, false});
      parts.push_back({{character, at}, true});
      begin = at;
    }
    if (begin < piece.end) parts.push_back({{begin, piece.end}, false});
  });
}

/// Replaces the text: `write(piece, text, ranges)` appends a piece's new text and the pieces in it.
template <typename Write>
void rewrite(Pieces& pieces, const Write& write) {
  Pieces result;
  result.text.reserve(pieces.text.size() + pieces.text.size() / 2);
  result.ranges.reserve(pieces.ranges.size());
  result.from_start = pieces.from_start;
  result.budget = pieces.budget;
  for (const TextRange& range : pieces.ranges) {
    write(std::string_view(pieces.text).substr(range.begin, range.end - range.begin), result.text, result.ranges);
  }
  pieces = std::move(result);
}

class WhitespaceSplit : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override { split_at(pieces, Behavior::removed, is_white_space); }
  AtSpaces at_spaces() const override { return AtSpaces::splits; }
};

/// Every character with a property is a delimiter.
class CharacterSplit final : public PreTokenizer {
 public:
  CharacterSplit(CharacterTable::Property property, Behavior behavior) : property_(property), behavior_(behavior) {}
  void apply(Pieces& pieces) const override {
    split_at(pieces, behavior_,
             [this, &table = CharacterTable::instance()](char32_t c) { return table.has(c, property_); });
  }
  AtSpaces at_spaces() const override { return AtSpaces::ignores; }

 private:
  CharacterTable::Property property_;
  Behavior behavior_;
};

class BertPreTokenizer final : public WhitespaceSplit {
 public:
  void apply(Pieces& pieces) const override {
    WhitespaceSplit::apply(pieces);
    punctuation_.apply(pieces);
  }

 private:
  CharacterSplit punctuation_{CharacterTable::punctuation, Behavior::isolated};
};

/// Runs of word characters, and runs of others that are not white space.
class Whitespace final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    enum class Kind { space, word, other };
    const auto kind_of = [&table = CharacterTable::instance()](char32_t c) {
      if (table.has(c, CharacterTable::word)) return Kind::word;
      return is_white_space(c) ? Kind::space : Kind::other;
    };
    split(pieces, Behavior::removed, [&](const TextRange& piece, std::vector<Part>& parts) {
      Kind last = Kind::space;
      for (std::size_t at = piece.begin; at < piece.end;) {
        const std::size_t begin = at;
        const Kind kind = kind_of(next_code_point(pieces.text, at));
        if (kind == last && !parts.empty()) {
          parts.back().range.end = at;
        } else {
          parts.push_back({{begin, at}, kind == Kind::space});
        }
        last = kind;
      }
    });
  }
  AtSpaces at_spaces() const override { return AtSpaces::splits; }
};

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}

  void apply(Pieces& pieces) const override {
    std::string with_space;
    rewrite(pieces, [&](std::string_view piece, std::string& text, std::vector<TextRange>& ranges) {
      if (add_prefix_space_ && !piece.starts_with(' ')) piece = with_space.assign(1, ' ').append(piece);
      for (std::size_t at = 0; at < piece.size();) {
        const std::size_t end = use_regex_ ? byte_level_word_end(piece, at) : piece.size();
        const std::size_t begin = text.size();
        append_byte_level(piece.substr(at, end - at), text);
        ranges.push_back({begin, text.size()});
        at = end;
      }
    });
  }
  AtSpaces at_spaces() const override { return use_regex_ ? AtSpaces::splits : AtSpaces::ignores; }

 private:
  bool add_prefix_space_, use_regex_;
};

class Metaspace final : public PreTokenizer {
 public:
  enum class Prepend { always, first, never };
  Metaspace(std::string replacement, Prepend prepend, bool split)
      : replacement_(std::move(replacement)), prepend_(prepend), split_(split) {}

  void apply(Pieces& pieces) const override {
    bool first = pieces.from_start;
    rewrite(pieces, [&](std::string_view piece, std::string& text, std::vector<TextRange>& ranges) {
      std::size_t begin = text.size();
      const bool marked = piece.starts_with(' ') || piece.starts_with(replacement_);
      if (!marked && (prepend_ == Prepend::always || (prepend_ == Prepend::first && first))) text += replacement_;
      first = false;
      for (std::size_t at = 0; at < piece.size();) {
        const bool mark = piece[at] == ' ' || piece.substr(at).starts_with(replacement_);
        // A mark begins a piece; of several, each but the last is a piece.
        if (split_ && mark && text.size() > begin) {
          ranges.push_back({begin, text.size()});
          begin = text.size();
        }
        if (mark) {
          text += replacement_;
          at += piece[at] == ' ' ? 1 : replacement_.size();
        } else {
          text += piece[at++];
        }
      }
      if (text.size() > begin) ranges.push_back({begin, text.size()});
    });
  }
  AtSpaces at_spaces() const override { return split_ ? AtSpaces::splits : AtSpaces::unknown; }

 private:
  std::string replacement_;
  Prepend prepend_;
  bool split_;
};

class Split final : public PreTokenizer {
 public:
  Split(TextPattern pattern, Behavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    split(pieces, behavior_, [&](const TextRange& piece, std::vector<Part>& parts) {
      std::size_t begin = piece.begin;
      const std::string_view text = std::string_view(pieces.text).substr(begin, piece.end - begin);
      for (const TextRange& match : pattern_.find_all(text, *pieces.budget)) {
        const TextRange range{piece.begin + match.begin, piece.begin + match.end};
        if (begin < range.begin) parts.push_back({{begin, range.begin}, invert_});
        parts.push_back({range, !invert_});
        begin = range.end;
      }
      if (begin < piece.end) parts.push_back({{begin, piece.end}, invert_});
    });
  }
  AtSpaces at_spaces() const override { return AtSpaces::unknown; }

 private:
  TextPattern pattern_;
  Behavior behavior_;
  bool invert_;
};

/// A Split by ByteLevel's own expression, every match a piece.
class ByteLevelWords final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    split(pieces, Behavior::isolated, [&](const TextRange& piece, std::vector<Part>& parts) {
      const std::string_view text = std::string_view(pieces.text).substr(0, piece.end);
      for (std::size_t at = piece.begin, end; at < piece.end; at = end) {
        end = byte_level_word_end(text, at);
        parts.push_back({{at, end}, true});
      }
    });
  }
  AtSpaces at_spaces() const override { return AtSpaces::splits; }
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<const PreTokenizer>> parts) : parts_(std::move(parts)) {}
  void apply(Pieces& pieces) const override {
    const std::size_t before = pieces.text.size();
    for (const auto& part : parts_) {
      part->apply(pieces);
      check_growth(before, pieces.text);
    }
  }
  AtSpaces at_spaces() const override {
    for (const auto& part : parts_) {
      if (part->at_spaces() != AtSpaces::ignores) return part->at_spaces();
    }
    return AtSpaces::ignores;
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

std::unique_ptr<const PreTokenizer> read_metaspace(const Component& part) {
  const std::string replacement = part.string("replacement");
  if (replacement.empty() || utf8_sequence_length(replacement) != replacement.size()) {
    part.at("replacement").fail("is not one character");
  }
  const std::string scheme = part.string("prepend_scheme", "always");
  auto prepend = Metaspace::Prepend::always;
  if (scheme == "first") {
    prepend = Metaspace::Prepend::first;
  } else if (scheme == "never" || !part.boolean("add_prefix_space", true)) {
    prepend = Metaspace::Prepend::never;
  } else if (scheme != "always") {
    part.at("prepend_scheme").refuse(fmt::format("the scheme {} is not supported", scheme));
  }
  return std::make_unique<Metaspace>(replacement, prepend, part.boolean("split", true));
}

std::unique_ptr<const PreTokenizer> read_split(const Component& part) {
  TextPattern pattern = TextPattern::read(part.at("pattern"));
  const Behavior behavior = read_behavior(part);
  const bool invert = part.boolean("invert");
  if (pattern.is_byte_level() && (behavior == Behavior::isolated || (behavior == Behavior::removed && invert))) {
    return std::make_unique<ByteLevelWords>();
  }
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}

}  // namespace

std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer() { return std::make_unique<BertPreTokenizer>(); }

std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const Component& part) {
  const std::string type = part.type();
  if (type == "BertPreTokenizer") return make_bert_pre_tokenizer();
  if (type == "ByteLevel") {
    return std::make_unique<ByteLevel>(part.boolean("add_prefix_space"), part.boolean("use_regex", true));
  }
  if (type == "Metaspace") return read_metaspace(part);
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return std::make_unique<WhitespaceSplit>();
  if (type == "Digits") {
    const bool individual = part.boolean("individual_digits");
    return std::make_unique<CharacterSplit>(CharacterTable::numeric,
                                            individual ? Behavior::isolated : Behavior::contiguous);
  }
  if (type == "Punctuation") {
    return std::make_unique<CharacterSplit>(CharacterTable::punctuation, read_behavior(part));
  }
  if (type == "Split") return read_split(part);
  if (type == "Sequence") {
    std::vector<std::unique_ptr<const PreTokenizer>> parts;
    for (const Component& each : part.elements("pretokenizers")) parts.push_back(read_pre_tokenizer(each));
    return std::make_unique<PreTokenizerSequence>(std::move(parts));
  }
  part.at("type").refuse(fmt::format("the pre-tokenizer {} is not supported", type));
}

}  // namespace relucent
