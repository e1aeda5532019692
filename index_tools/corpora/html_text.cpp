#include "index_tools/corpora/html_text.h"

#include <libxml/HTMLparser.h>
#include <libxml/xmlerror.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>

#include "base/utf8.h"
#include "index_tools/corpora/markup_attributes.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::array<std::string_view, 5> kIgnored = {"noscript", "meta", "input", "script", "style"};
constexpr std::array<std::string_view, 2> kTextOnly = {"title", "textarea"};
// For an end tag libxml2 searches the open elements, for an attribute the tag's other attributes. A malicious page can
// make this take hours; these limits bound it to some seconds.
constexpr double kMaxElementsLookedAt = 1.5e9, kMaxAttributesLookedAt = 2e9;
constexpr double kMaxDepthAnyway = 1000;
// Characters that lxml's feed() passes at a time.
constexpr std::size_t kChunkCharacters = std::size_t{1} << 19;

template <typename Tags>
bool contains(const Tags& tags, std::string_view tag) {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

bool is_white(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Bytes of the white character at the start, 0 if there is none.
std::size_t white_at_start(std::string_view text) {
  if (text.empty()) return 0;
  const DecodedCodePoint decoded = decode_utf8(text, 0);
  return is_white(decoded.value) ? decoded.bytes : 0;
}

// ir_datasets' _join_text() without its last step: a run of spaces and line ends becomes a single one.
std::string with_single_spaces(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    bool line_end = false, space = false;
    for (; i < text.size(); ++i) {
      if (text[i] == '\n' || text[i] == '\r') {
        line_end = true;
      } else if (text[i] == ' ' || text[i] == '\t') {
        space = true;
      } else {
        break;
      }
    }
    if (line_end) {
      joined += '\n';
    } else if (space) {
      joined += ' ';
    }
    while (i < text.size() && text[i] != '\n' && text[i] != '\r' && text[i] != ' ' && text[i] != '\t')
      joined += text[i++];
  }
  return joined;
}

std::size_t max_depth_allowed(std::string_view page) {
  const auto tags = static_cast<double>(1 + std::count(page.begin(), page.end(), '<'));
  return static_cast<std::size_t>(std::max(kMaxDepthAnyway, kMaxElementsLookedAt / tags));
}

// Sorts text into fields while libxml2 reads a page. Exceptions must not pass through libxml2, so one is kept until the
// end.
class Extractor {
 public:
  explicit Extractor(const std::vector<HtmlField>& fields)
      : fields_(fields), texts_(fields.size()), open_(fields.size()) {}

  void read(std::string_view page) {
    if (has_too_many_attributes(page, kMaxAttributesLookedAt)) {
      throw Error(ErrorKind::invalid_data, "", "tags with too many attributes");
    }
    const std::optional<std::string> renamed = with_few_attribute_names(page);
    if (renamed) page = *renamed;
    deepest_ = max_depth_allowed(page);
    htmlSAXHandler handler{};
    handler.initialized = 1;  // SAX1, as for HTML
    handler.startElement = [](void* self, const xmlChar* tag, const xmlChar**) {
      guarded(self, [&](Extractor& e) { e.start(reinterpret_cast<const char*>(tag)); });
    };
    handler.endElement = [](void* self, const xmlChar* tag) {
      guarded(self, [&](Extractor& e) { e.end(reinterpret_cast<const char*>(tag)); });
    };
    handler.characters = handler.cdataBlock = [](void* self, const xmlChar* text, int size) {
      guarded(self, [&](Extractor& e) {
        e.data(std::string_view(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)));
      });
    };
    const std::unique_ptr<htmlParserCtxt, void (*)(htmlParserCtxtPtr)> context(
        ::htmlCreatePushParserCtxt(&handler, this, nullptr, 0, nullptr, XML_CHAR_ENCODING_NONE), free_context);
    if (context == nullptr) throw Error(ErrorKind::io, "", "out of memory for an HTML page");
    parser_ = context.get();
    // The calls in lxml's order, so that every page is read as in lxml.
    ::xmlCtxtResetPush(parser_, nullptr, 0, nullptr, "UTF-8");
    parser_->progressive = 1;
    parser_->html = 1;
    ::htmlCtxtUseOptions(parser_, HTML_PARSE_RECOVER | HTML_PARSE_NONET | HTML_PARSE_COMPACT | HTML_PARSE_NOERROR |
                                      HTML_PARSE_NOWARNING);
    while (!page.empty() && !failure_) {
      const std::size_t bytes = bytes_of_code_points(page, kChunkCharacters);
      ::htmlParseChunk(parser_, page.data(), static_cast<int>(bytes), 0);
      page.remove_prefix(bytes);
    }
    if (!failure_) ::htmlParseChunk(parser_, nullptr, 0, 1);
    if (failure_) std::rethrow_exception(failure_);
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const std::string& text : texts_) texts.emplace_back(stripped_text(with_single_spaces(text)));
    return texts;
  }

 private:
  static void free_context(htmlParserCtxtPtr context) {
    if (context->myDoc != nullptr) ::xmlFreeDoc(context->myDoc);
    ::htmlFreeParserCtxt(context);
  }

  template <typename Action>
  static void guarded(void* pointer, Action action) noexcept {
    auto& self = *static_cast<Extractor*>(pointer);
    if (self.failure_ || self.parser_->disableSAX != 0) return;
    try {
      action(self);
    } catch (...) {
      self.failure_ = std::current_exception();
      ::xmlStopParser(self.parser_);
    }
  }

  void start(std::string_view tag) {
    if (++depth_ > deepest_) throw Error(ErrorKind::invalid_data, "", "elements nested too deep");
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (contains(fields_[i], tag)) open_[i].emplace_back(tag);
    }
    if (contains(kIgnored, tag)) ignored_.emplace_back(tag);
    if (contains(kTextOnly, tag)) in_text_only_ = true;
  }

  void end(std::string_view tag) {
    if (depth_ > 0) --depth_;
    in_text_only_ = false;
    for (std::vector<std::string>& open : open_) {
      if (!open.empty() && open.back() == tag) open.pop_back();
    }
    if (!ignored_.empty() && ignored_.back() == tag) ignored_.pop_back();
  }

  void data(std::string_view text) {
    if (!ignored_.empty()) return;
    std::string inner;
    if (in_text_only_ && text.find('<') != std::string_view::npos) {
      // Tags inside a title or a text area are still markup.
      static const std::vector<HtmlField> everything = {{}};
      Extractor extractor(everything);
      extractor.read(text);
      inner = extractor.texts().front();
      text = inner;
    }
    bool taken = false;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].empty() ? taken : open_[i].empty()) continue;
      texts_[i] += text;
      taken = true;
    }
  }

  const std::vector<HtmlField>& fields_;
  std::vector<std::string> texts_;
  std::vector<std::vector<std::string>> open_;  // per field, the elements that are still open
  std::vector<std::string> ignored_;
  bool in_text_only_ = false;
  std::size_t depth_ = 0, deepest_ = 0;
  htmlParserCtxtPtr parser_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace

std::string_view stripped_text(std::string_view text) {
  while (const std::size_t length = white_at_start(text)) text.remove_prefix(length);
  for (;;) {
    std::size_t last = text.size();
    while (last > 0 && is_utf8_continuation(text[--last])) {
    }
    const std::size_t length = white_at_start(text.substr(last));
    if (length == 0 || last + length != text.size()) return text;
    text.remove_suffix(length);
  }
}

std::vector<std::string> html_fields(std::string_view page, const std::vector<HtmlField>& fields) {
  Extractor extractor(fields);
  extractor.read(page);
  return extractor.texts();
}

}  // namespace relucent::index_tools
