#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relucent::program {

/// Whether a descriptor is a terminal.
bool is_terminal(int descriptor) noexcept;
/// Columns of the terminal on standard output; `otherwise` if that is not a terminal.
std::size_t terminal_columns(std::size_t otherwise) noexcept;
/// Rows of the terminal on standard output; `otherwise` if that is not a terminal.
std::size_t terminal_rows(std::size_t otherwise) noexcept;
/// Whether to print colours and bold type: standard output is a terminal that supports them, and NO_COLOR is not set.
bool wants_styles() noexcept;

/// Columns on a terminal and bytes of the UTF-8 sequence at the front of `text`. Needs a UTF-8 locale.
struct Cell {
  std::size_t bytes = 0, columns = 0;
};
Cell first_cell(std::string_view text) noexcept;
std::size_t display_columns(std::string_view text) noexcept;

/// Makes the text fit for one line: control characters, line ends and runs of blanks become one space each, malformed
/// UTF-8 becomes U+FFFD, so that no document can control the terminal.
std::string printable(std::string_view text);
/// Truncates the text to fit, with "…" in place of the rest.
std::string shortened(std::string_view text, std::size_t columns);
/// The same with "…" in place of the beginning, for paths.
std::string shortened_at_front(std::string_view text, std::size_t columns);

}  // namespace relucent::program
