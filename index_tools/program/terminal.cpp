#include "index_tools/program/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cwchar>

#include "base/utf8.h"

namespace relucent::program {
namespace {

// C0, DEL, C1, and the bidirectional control characters.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

bool is_terminal(int descriptor) noexcept { return ::isatty(descriptor) == 1; }

std::size_t terminal_columns(std::size_t otherwise) noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return otherwise;
}

std::size_t terminal_rows(std::size_t otherwise) noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) return size.ws_row;
  return otherwise;
}

bool wants_styles() noexcept {
  const char* none = std::getenv("NO_COLOR");
  if (none != nullptr && *none != '\0') return false;
  const char* kind = std::getenv("TERM");
  return is_terminal(STDOUT_FILENO) && kind != nullptr && std::string_view(kind) != "dumb";
}

Cell first_cell(std::string_view text) noexcept {
  if (text.empty()) return {};
  const DecodedCodePoint decoded = decode_utf8(text, 0);
  if (!decoded.well_formed) return {1, 1};
  const int columns = ::wcwidth(static_cast<wchar_t>(decoded.value));
  return {decoded.bytes, columns < 0 ? std::size_t{1} : static_cast<std::size_t>(columns)};
}

std::size_t display_columns(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Cell cell = first_cell(text);
    columns += cell.columns;
    text.remove_prefix(cell.bytes);
  }
  return columns;
}

std::string printable(std::string_view text) {
  std::string result;
  bool blank = false;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t character = next_code_point(text, i);
    if (character == U' ' || is_control(character)) {
      blank = !result.empty();
      continue;
    }
    if (blank) result += ' ';
    blank = false;
    append_utf8(character, result);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (display_columns(text) <= columns) return std::string(text);
  std::string result;
  std::size_t used = 1;
  for (;;) {
    const Cell cell = first_cell(text);
    if (used + cell.columns > columns) break;
    used += cell.columns;
    result += text.substr(0, cell.bytes);
    text.remove_prefix(cell.bytes);
  }
  return result + "…";
}

std::string shortened_at_front(std::string_view text, std::size_t columns) {
  std::size_t used = display_columns(text);
  if (used <= columns) return std::string(text);
  while (!text.empty() && used + 1 > columns) {
    const Cell cell = first_cell(text);
    used -= cell.columns;
    text.remove_prefix(cell.bytes);
  }
  return "…" + std::string(text);
}

}  // namespace relucent::program
