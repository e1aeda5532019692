#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// Called with a line without its end and its number, from 1.
using LineUse = std::function<void(const std::string& line, std::int64_t number)>;

/// Reads a text file, plain or compressed (gz, bz2, xz, zstd, Z), line by line: LF or CRLF ends, a byte order mark
/// dropped, malformed UTF-8 replaced by U+FFFD. In an archive every file is read in turn. "-" is standard input.
/// Throws Error naming the file if it is unreadable or damaged.
void for_each_line(const std::filesystem::path& file, const LineUse& use);

/// The parts of a line between blanks (space, tab, CR, VT, FF), as trec_eval splits it. The views point into `line`.
std::vector<std::string_view> split_fields(std::string_view line);
/// Trims the text and collapses every run of blanks and line ends to one space.
std::string collapse_blanks(std::string_view text);

/// Parses the whole field as a number, like strtod in the C locale. False for anything else, including NaN.
bool parse_number(std::string_view field, double& value) noexcept;
bool parse_whole_number(std::string_view field, std::int64_t& value) noexcept;

/// Throws Error `invalid_data` if the word is empty or contains white space.
/// @param holder  what cannot hold it, such as "a run's columns"
void require_word(std::string_view word, std::string_view what, std::string_view holder);

/// Throws Error `invalid_data` whose place is "file:line".
[[noreturn]] void bad_line(const std::filesystem::path& file, std::int64_t line, std::string_view problem,
                           std::string_view remedy = {});
/// Quotes a piece of a line for an error message, cut to about 60 bytes, with control characters as spaces.
std::string excerpt(std::string_view text);

}  // namespace relucent::index_tools
