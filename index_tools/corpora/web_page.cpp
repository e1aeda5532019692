#include "index_tools/corpora/web_page.h"

#include <utility>
#include <vector>

#include "index_tools/corpora/charset.h"
#include "index_tools/corpora/html_text.h"

namespace relucent::index_tools {
namespace {

bool in_charset_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

std::string_view find_charset(std::string_view text) {
  constexpr std::string_view key = "charset=";
  std::size_t i = text.find(key);
  if (i == std::string_view::npos) return {};
  i += key.size();
  while (i < text.size() && text[i] == ' ') ++i;
  if (i < text.size() && (text[i] == '"' || text[i] == '\'')) ++i;
  const std::size_t from = i;
  while (i < text.size() && in_charset_name(text[i])) ++i;
  return text.substr(from, i - from);
}

}  // namespace

std::string decode_html(std::string_view page, std::string_view headers) {
  for (const std::string_view text : {page, headers}) {
    const std::string_view charset = find_charset(text);
    if (charset.empty()) continue;
    if (auto decoded = decode_charset(page, charset)) return *std::move(decoded);
  }
  return *decode_charset(page, "utf-8");
}

std::string text_of_page(std::string_view page, std::string_view headers) {
  static const std::vector<HtmlField> fields = {{"title", "body"}};
  return html_fields(decode_html(page, headers), fields).front();
}

std::string text_of_html_file(std::string_view page) {
  static const std::vector<HtmlField> fields = {{"title"}, {}};
  const bool utf8 = page.starts_with("\xEF\xBB\xBF");
  const bool utf16 = page.starts_with("\xFF\xFE") || page.starts_with("\xFE\xFF");
  const std::string decoded = utf8    ? *decode_charset(page, "utf-8-sig")
                              : utf16 ? *decode_charset(page, "utf-16")
                                      : decode_html(page, {});
  const std::vector<std::string> texts = html_fields(decoded, fields);
  return texts[0].empty() ? texts[1] : texts[0] + " " + texts[1];
}

HttpResponse split_http(std::string_view response) {
  for (std::size_t i = response.find('\n'); i != std::string_view::npos; i = response.find('\n', i + 1)) {
    const std::string_view rest = response.substr(i + 1);
    const std::size_t empty_line = rest.starts_with("\n") ? 1 : rest.starts_with("\r\n") ? 2 : 0;
    if (empty_line == 0) continue;
    const std::size_t headers = i > 0 && response[i - 1] == '\r' ? i - 1 : i;
    return {response.substr(0, headers), rest.substr(empty_line)};
  }
  return {response, {}};
}

}  // namespace relucent::index_tools
