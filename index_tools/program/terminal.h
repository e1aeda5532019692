#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relucent::program {

/// Whether a descriptor is a terminal.
bool is_terminal(int descriptor) noexcept;
/// Columns of the terminal on standard output; `otherwise` where there is none.
std::size_t terminal_columns(std::size_t otherwise) noexcept;
/// Whether to print colours and bold type: standard output is a terminal that can, and NO_COLOR is not set.
bool wants_styles() noexcept;

/// Columns that one UTF-8 sequence at the front of `text` takes on a terminal, and its length in bytes. Needs a UTF-8
/// locale.
struct Cell {
  std::size_t bytes = 0, columns = 0;
};
Cell first_cell(std::string_view text) noexcept;
std::size_t display_columns(std::string_view text) noexcept;

/// The text for one line: control characters, line ends and runs of blanks as one space each, malformed UTF-8 as
/// U+FFFD. Nothing in a document can steer the terminal then.
std::string printable(std::string_view text);
/// As many characters as fit, with "…" where something was left out.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace relucent::program
