#include "index_tools/program/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cwchar>

#include "index_tools/readers/utf8.h"

namespace relucent::program {
namespace {

wchar_t decode(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<wchar_t>(static_cast<unsigned char>(sequence[i])); };
  switch (sequence.size()) {
    case 1: return byte(0);
    case 2: return static_cast<wchar_t>(((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F));
    case 3: return static_cast<wchar_t>(((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F));
    default:
      return static_cast<wchar_t>(((byte(0) & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) |
                                  (byte(3) & 0x3F));
  }
}

// C0, DEL, C1, and the characters that turn the direction of what follows.
bool is_control(wchar_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

bool is_terminal(int descriptor) noexcept { return ::isatty(descriptor) == 1; }

std::size_t terminal_columns(std::size_t otherwise) noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
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
  const std::size_t bytes = index_tools::utf8_sequence_length(text);
  if (bytes == 0) return {1, 1};
  const int columns = ::wcwidth(decode(text.substr(0, bytes)));
  return {bytes, columns < 0 ? std::size_t{1} : static_cast<std::size_t>(columns)};
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
  std::string whole(text);
  index_tools::replace_malformed_utf8(whole);
  std::string result;
  bool blank = false;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::size_t bytes = std::max<std::size_t>(index_tools::utf8_sequence_length(rest), 1);
    const wchar_t character = decode(rest.substr(0, bytes));
    if (character == L' ' || is_control(character)) {
      blank = !result.empty();
    } else {
      if (blank) result += ' ';
      blank = false;
      result += rest.substr(0, bytes);
    }
    rest.remove_prefix(bytes);
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

}  // namespace relucent::program
