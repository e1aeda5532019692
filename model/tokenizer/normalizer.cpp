#include "model/tokenizer/normalizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "model/tokenizer/base64.h"
#include "model/tokenizer/character_table.h"
#include "model/tokenizer/precompiled_charsmap.h"
#include "model/tokenizer/text_cuts.h"
#include "model/tokenizer/text_pattern.h"
#include "model/tokenizer/unicode_form.h"

namespace relucent {
namespace {

/// Calls `change(c, result)` with every code point and replaces the text with `result`.
template <typename Change>
void for_each_code_point(std::string& text, const Change& change) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) change(next_code_point(text, at), result);
  text = std::move(result);
}

void lower(std::string& text) {
  for_each_code_point(text, [&table = CharacterTable::instance()](char32_t c, std::string& result) {
    append_utf8(table.lower(c), result);
    if (c == 0x130) append_utf8(0x307, result);
  });
}

/// Removes the code points with `property`.
void remove_all(NormalizedText& text, CharacterTable::Property property) {
  const CharacterTable& table = CharacterTable::instance();
  std::size_t at = 0;
  if (!text.text.empty() && table.has(next_code_point(text.text, at), property)) text.from_start = false;
  for_each_code_point(text.text, [&](char32_t c, std::string& result) {
    if (!table.has(c, property)) append_utf8(c, result);
  });
}

class BertNormalizer final : public Normalizer {
 public:
  BertNormalizer(bool clean, bool chinese, bool strip_accents, bool lowercase)
      : clean_(clean), chinese_(chinese), strip_accents_(strip_accents), lowercase_(lowercase) {}

  void apply(NormalizedText& text) const override {
    if (clean_) {
      remove_all(text, CharacterTable::dropped);
      for_each_code_point(text.text,
                          [](char32_t c, std::string& result) { append_utf8(is_white_space(c) ? U' ' : c, result); });
    }
    if (chinese_) {
      for_each_code_point(text.text, [](char32_t c, std::string& result) {
        const bool chinese = is_chinese(c);
        if (chinese) result += ' ';
        append_utf8(c, result);
        if (chinese) result += ' ';
      });
    }
    if (strip_accents_) {
      nfd_.apply(text.text);
      remove_all(text, CharacterTable::nonspacing);
    }
    if (lowercase_) lower(text.text);
  }

 private:
  static bool is_chinese(char32_t c) {
    if (c < 0x3400) return false;
    // 2B820 to 2B91F is missing in Hugging Face's list.
    static constexpr std::array<std::array<char32_t, 2>, 7> ranges{{{0x3400, 0x4DBF},
                                                                    {0x4E00, 0x9FFF},
                                                                    {0xF900, 0xFAFF},
                                                                    {0x20000, 0x2A6DF},
                                                                    {0x2A700, 0x2B81F},
                                                                    {0x2B920, 0x2CEAF},
                                                                    {0x2F800, 0x2FA1F}}};
    return std::any_of(ranges.begin(), ranges.end(), [c](const auto& range) { return c >= range[0] && c <= range[1]; });
  }

  bool clean_, chinese_, strip_accents_, lowercase_;
  UnicodeForm nfd_{UnicodeForm::Name::nfd};
};

class Form final : public Normalizer {
 public:
  explicit Form(UnicodeForm::Name name) : form_(name) {}
  void apply(NormalizedText& text) const override { form_.apply(text.text); }

 private:
  UnicodeForm form_;
};

class Lowercase final : public Normalizer {
 public:
  void apply(NormalizedText& text) const override { lower(text.text); }
};

class StripAccents final : public Normalizer {
 public:
  void apply(NormalizedText& text) const override { remove_all(text, CharacterTable::mark); }
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  void apply(NormalizedText& text) const override {
    std::size_t begin = 0, end = text.text.size();
    for (std::size_t next = 0; left_ && next < end && is_white_space(next_code_point(text.text, next));) begin = next;
    while (right_ && end > begin) {
      std::size_t last = end - 1;
      while (is_utf8_continuation(text.text[last])) --last;
      if (!is_white_space(decode_utf8(text.text, last).value)) break;
      end = last;
    }
    text.from_start = text.from_start && begin == 0;
    text.text = text.text.substr(begin, end - begin);
  }
  bool allows_cuts() const override { return !left_; }

 private:
  bool left_, right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(NormalizedText& text) const override {
    if (!text.text.empty()) text.text.insert(0, prefix_);
  }
  bool allows_cuts() const override { return false; }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(TextPattern pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void apply(NormalizedText& text) const override {
    const auto matches = pattern_.find_all(text.text, *text.budget);
    if (matches.empty()) return;
    // The content stands for the last character that it replaces.
    const TextRange& first = matches.front();
    const bool one = first.begin == first.end || first.end == decode_utf8(text.text, first.begin).bytes;
    if (first.begin == 0 && (content_.empty() || !one)) text.from_start = false;
    std::string result;
    std::size_t at = 0;
    for (const TextRange& match : matches) {
      result.append(text.text, at, match.begin - at).append(content_);
      check_growth(text.text.size(), result);
      at = match.end;
    }
    text.text = result.append(text.text, at);
  }
  bool allows_cuts() const override { return pattern_.spares_single_spaces(); }

 private:
  TextPattern pattern_;
  std::string content_;
};

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(PrecompiledCharsmap map) : map_(std::move(map)) {}
  void apply(NormalizedText& text) const override { map_.apply(text.text); }
  bool allows_cuts() const override { return map_.keeps_words_apart(); }

 private:
  PrecompiledCharsmap map_;
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> parts) : parts_(std::move(parts)) {}
  void apply(NormalizedText& text) const override {
    const std::size_t before = text.text.size();
    for (const auto& part : parts_) {
      part->apply(text);
      check_growth(before, text.text);
    }
  }
  bool allows_cuts() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->allows_cuts(); });
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> parts_;
};

/// A text that is inserted, once per match or part of a text. Longer ones would let a short text take much memory.
std::string read_inserted(const Component& part, const char* name) {
  std::string text = part.string(name);
  if (text.size() > PrecompiledCharsmap::kMaxReplacement) {
    part.at(name).refuse(fmt::format("is longer than {} bytes", PrecompiledCharsmap::kMaxReplacement));
  }
  return text;
}

std::unique_ptr<const Normalizer> read_precompiled(const Component& part) {
  const Component map = part.at("precompiled_charsmap");
  const auto bytes = decode_base64(map.text());
  if (!bytes) map.fail("is not valid base64");
  auto parsed = PrecompiledCharsmap::parse(*bytes);
  if (!parsed) map.fail("is damaged");
  return std::make_unique<Precompiled>(std::move(*parsed));
}

}  // namespace

std::unique_ptr<const Normalizer> make_bert_normalizer(bool clean_text, bool handle_chinese_chars, bool strip_accents,
                                                       bool lowercase) {
  return std::make_unique<BertNormalizer>(clean_text, handle_chinese_chars, strip_accents, lowercase);
}

std::unique_ptr<const Normalizer> read_normalizer(const Component& part) {
  const std::string type = part.type();
  if (type == "BertNormalizer") {
    const bool lowercase = part.boolean("lowercase");
    return make_bert_normalizer(part.boolean("clean_text"), part.boolean("handle_chinese_chars"),
                                part.boolean("strip_accents", lowercase), lowercase);
  }
  if (const auto form = UnicodeForm::named(type)) return std::make_unique<Form>(*form);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Strip") return std::make_unique<Strip>(part.boolean("strip_left"), part.boolean("strip_right"));
  if (type == "Prepend") return std::make_unique<Prepend>(read_inserted(part, "prepend"));
  if (type == "Replace") {
    std::string content = read_inserted(part, "content");
    return std::make_unique<Replace>(TextPattern::read(part.at("pattern")), std::move(content));
  }
  if (type == "Precompiled") return read_precompiled(part);
  if (type == "Sequence") {
    std::vector<std::unique_ptr<const Normalizer>> parts;
    for (const Component& each : part.elements("normalizers")) parts.push_back(read_normalizer(each));
    return std::make_unique<NormalizerSequence>(std::move(parts));
  }
  part.at("type").refuse(fmt::format("the normalizer {} is not supported", type));
}

}  // namespace relucent
