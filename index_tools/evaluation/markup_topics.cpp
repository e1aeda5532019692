#include "index_tools/evaluation/markup_topics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "index_tools/evaluation/text_lines.h"

namespace relucent::index_tools {
namespace {

// XML's five named characters and numbered ones; TREC's SGML writes '&' as itself, so anything else stays.
std::string with_characters(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> named = {
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // A character's name is short: whoever looks further for its end reads a text of many '&' many times.
    const std::size_t length = text[i] == '&' ? text.substr(i, 11).find(';') : std::string_view::npos;
    if (length != std::string_view::npos) {
      const std::size_t end = i + length;
      const std::string_view name = text.substr(i + 1, end - i - 1);
      const auto found =
          std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
      if (found != named.end()) {
        result += found->second;
        i = end;
        continue;
      }
      if (name.size() > 1 && name[0] == '#') {
        const bool hexadecimal = name[1] == 'x' || name[1] == 'X';
        const std::string_view digits = name.substr(hexadecimal ? 2 : 1);
        std::uint32_t code = 0;
        const auto [last, status] =
            std::from_chars(digits.data(), digits.data() + digits.size(), code, hexadecimal ? 16 : 10);
        const bool scalar = code > 0 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
        if (status == std::errc() && last == digits.data() + digits.size() && scalar) {
          append_utf8(code, result);
          i = end;
          continue;
        }
      }
    }
    result += text[i];
  }
  return result;
}

constexpr std::string_view kTagBlanks = " \t\r\n";

struct Tag {
  std::string name;  // lower case; starts with '/' for an end tag
  std::string_view attributes;
  bool empty = false;  // <a/>
};

// The value of an attribute; nothing if there is none.
std::optional<std::string> attribute(std::string_view attributes, std::string_view name) {
  for (std::size_t i = 0; i < attributes.size();) {
    const std::size_t begin = attributes.find_first_not_of(kTagBlanks, i);
    if (begin == std::string_view::npos) break;
    const std::size_t equals = attributes.find('=', begin);
    if (equals == std::string_view::npos) break;
    const std::string key = lower_ascii(trim(attributes.substr(begin, equals - begin)));
    const std::size_t quote = attributes.find_first_not_of(kTagBlanks, equals + 1);
    if (quote == std::string_view::npos || (attributes[quote] != '"' && attributes[quote] != '\'')) break;
    const std::size_t end = attributes.find(attributes[quote], quote + 1);
    if (end == std::string_view::npos) break;
    if (key == name) return with_characters(attributes.substr(quote + 1, end - quote - 1));
    i = end + 1;
  }
  return std::nullopt;
}

/// Reads topics tag by tag. SGML fields end where the next known tag begins; a '<' that starts no known tag is text.
class MarkupReader {
 public:
  MarkupReader(const std::string& content, const std::filesystem::path& file) : content_(content), file_(file) {}

  TopicFile read() {
    std::size_t text_begin = 0;
    while (place_ < content_.size()) {
      const std::size_t open = content_.find('<', place_);
      if (open == std::string::npos) break;
      place_ = open;
      std::optional<std::string_view> literal;
      if (skip_section(open, literal)) {
        take_text(text_begin, open);
        if (literal && field_ != nullptr) *field_ += *literal;
        text_begin = place_;
        continue;
      }
      const auto tag = tag_at(open);
      if (!tag) {
        place_ = open + 1;
        continue;
      }
      take_text(text_begin, open);
      text_begin = place_;
      use(*tag, open);
    }
    if (in_topic_)
      bad_line(file_, line_of(topic_begin_), "the topic that begins here is not closed",
               "close it with </top> or </topic>");
    return {xml_ ? TopicFormat::trec_xml : TopicFormat::trec, std::move(topics_)};
  }

 private:
  std::int64_t line_of(std::size_t place) const {
    return 1 + std::count(content_.begin(), content_.begin() + static_cast<std::ptrdiff_t>(place), '\n');
  }

  // Comments, processing instructions, <!DOCTYPE ... [ ... ]> and CDATA, whose content goes to `literal`.
  bool skip_section(std::size_t open, std::optional<std::string_view>& literal) {
    const std::string_view rest = std::string_view(content_).substr(open);
    const auto skip = [&](std::string_view start, std::string_view end) -> std::optional<std::string_view> {
      if (!rest.starts_with(start)) return std::nullopt;
      const std::size_t close = rest.find(end, start.size());
      if (close == std::string_view::npos)
        bad_line(file_, line_of(open), fmt::format("{} is not closed", start), fmt::format("close it with {}", end));
      place_ = open + close + end.size();
      return rest.substr(start.size(), close - start.size());
    };
    if (skip("<!--", "-->") || skip("<?", "?>")) return true;
    literal = skip("<![CDATA[", "]]>");
    if (literal) return true;
    if (!rest.starts_with("<!DOCTYPE") && !rest.starts_with("<!doctype")) return false;
    const std::size_t bracket = rest.find_first_of("[>");
    return skip(rest.substr(0, 9), bracket != std::string_view::npos && rest[bracket] == '[' ? "]>" : ">").has_value();
  }

  // Reads the name first, so that a text of many '<' is read once, not to the next '>' from each of them.
  std::optional<Tag> tag_at(std::size_t open) {
    const std::string_view content = content_;
    const bool end_tag = content.substr(open + 1).starts_with('/');
    const std::size_t begin = open + (end_tag ? 2 : 1);
    std::size_t end = begin;
    while (end < content.size() && is_name_character(content[end])) ++end;
    const std::string_view after = content.substr(end);
    if (end == begin || after.empty()) return std::nullopt;
    if (after[0] != '>' && !after.starts_with("/>") && kTagBlanks.find(after[0]) == std::string_view::npos)
      return std::nullopt;
    Tag tag;
    tag.name = lower_ascii(content.substr(begin, end - begin));
    constexpr std::array known = {"top",         "topic",    "num",  "number",    "title",  "query",    "desc",
                                  "description", "question", "narr", "narrative", "topics", "subtopic", "dom",
                                  "smry",        "con",      "fac",  "def",       "nat",    "time",     "head"};
    // XML files have further tags; inside a topic an unknown tag also ends the field.
    if (!xml_ && std::find(known.begin(), known.end(), tag.name) == known.end()) return std::nullopt;
    if (end_tag) tag.name.insert(0, 1, '/');
    const std::size_t close =
        last_close_ == std::string::npos || last_close_ < end ? std::string_view::npos : content.find('>', end);
    if (close == std::string_view::npos) return std::nullopt;
    tag.attributes = content.substr(end, close - end);
    if (tag.attributes.ends_with('/')) {
      tag.empty = true;
      tag.attributes.remove_suffix(1);
    }
    place_ = close + 1;
    return tag;
  }

  static bool is_name_character(unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == ':'; }

  void use(const Tag& tag, std::size_t place) {
    field_ = nullptr;
    if (tag.name == "top" || tag.name == "topic") {
      if (in_topic_)
        bad_line(file_, line_of(topic_begin_), "the topic that begins here is not closed",
                 fmt::format("close it with </{}>", tag.name));
      xml_ = tag.name == "topic";
      in_topic_ = true;
      topic_begin_ = place;
      topic_ = {};
      nested_.clear();
      for (const char* name : {"number", "id", "qid"}) {
        if (topic_.id.empty()) topic_.id = attribute(tag.attributes, name).value_or("");
      }
    } else if (tag.name == "/top" || tag.name == "/topic") {
      if (in_topic_) finish();
    } else if (in_topic_ && tag.name.starts_with('/')) {
      if (std::string_view(tag.name).substr(1) == nested_) nested_.clear();
    } else if (in_topic_ && !tag.empty && nested_.empty()) {
      field_ = field_named(tag.name);
      if (field_ != nullptr && !is_blank(*field_)) field_ = nullptr;  // the first of its kind counts
      if (field_ != nullptr) field_->clear();                         // so that no blank is looked at twice
      // The content of other elements is not a field of the topic, except TIREx's original_query, which holds the whole
      // topic.
      if (field_named(tag.name) == nullptr && xml_ && tag.name != "original_query") nested_ = tag.name;
    }
  }

  std::string* field_named(const std::string& name) {
    if (name == "num" || name == "number") return &topic_.id;
    if (name == "title" || name == "query") return &topic_.title;
    if (name == "desc" || name == "description" || name == "question") return &topic_.description;
    if (name == "narr" || name == "narrative") return &topic_.narrative;
    return nullptr;
  }

  void take_text(std::size_t begin, std::size_t end) {
    if (field_ != nullptr) *field_ += with_characters(std::string_view(content_).substr(begin, end - begin));
  }

  // Drops the word that TREC puts before a field: "Number: 301".
  static std::string without_label(const std::string& text, std::initializer_list<std::string_view> labels) {
    const std::string plain = collapse_blanks(text);
    const std::string small = lower_ascii(plain);
    for (const std::string_view label : labels) {
      if (!small.starts_with(label)) continue;
      std::string_view rest = trim(std::string_view(plain).substr(label.size()));
      if (rest.starts_with(':')) return std::string(trim(rest.substr(1)));
      // Without a colon it is a label only on a line of its own.
      const std::size_t line_end = trim(text).find('\n');
      if (line_end != std::string_view::npos && trim(trim(text).substr(0, line_end)).size() == label.size())
        return std::string(rest);
    }
    return plain;
  }

  void finish() {
    in_topic_ = false;
    if (xml_) {
      for (std::string* text : {&topic_.id, &topic_.title, &topic_.description, &topic_.narrative})
        *text = collapse_blanks(*text);
    } else {
      topic_.id = without_label(topic_.id, {"number", "topic"});
      topic_.title = without_label(topic_.title, {"topic", "title"});
      topic_.description = without_label(topic_.description, {"description"});
      topic_.narrative = without_label(topic_.narrative, {"narrative"});
    }
    // Counting lines takes as long as the text before: only for an error.
    const auto line = [&] { return line_of(topic_begin_); };
    if (topic_.id.empty())
      bad_line(file_, line(), "the topic has no number", "give it one: <num> 301, or <topic number=\"301\">");
    if (topic_.id.find(' ') != std::string::npos)
      bad_line(file_, line(), fmt::format("the topic's number {} contains white space", excerpt(topic_.id)),
               "remove it");
    if (topic_.title.empty() && topic_.description.empty()) {
      bad_line(file_, line(), fmt::format("topic {} has neither a title nor a description", topic_.id),
               "add <title> or <query>");
    }
    topics_.push_back(std::move(topic_));
  }

  const std::string& content_;
  const std::filesystem::path& file_;
  std::size_t place_ = 0;
  std::vector<Topic> topics_;
  Topic topic_;
  std::string* field_ = nullptr;  // the field that receives text now
  std::string nested_;            // the element within the topic whose content is skipped
  bool in_topic_ = false, xml_ = false;
  std::size_t topic_begin_ = 0;
  const std::size_t last_close_ = content_.rfind('>');  // npos: none; each '<' behind it is text
};

}  // namespace

TopicFile parse_markup_topics(const std::string& content, const std::filesystem::path& file) {
  return MarkupReader(content, file).read();
}

}  // namespace relucent::index_tools
