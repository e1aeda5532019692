#include "index_tools/evaluation/text_lines.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "index_tools/corpora/input_parts.h"
#include "index_tools/corpora/line_reader.h"
#include "index_tools/corpora/named_descriptor.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

std::string_view without_plus(std::string_view field) {
  if (field.size() > 1 && field[0] == '+' && field[1] != '-' && field[1] != '+') field.remove_prefix(1);
  return field;
}

}  // namespace

void for_each_line(const std::filesystem::path& file, const LineUse& use) {
  if (!named_descriptor(file, STDIN_FILENO)) {
    std::error_code problem;
    const auto status = std::filesystem::status(file, problem);
    if (!std::filesystem::exists(status)) throw Error(ErrorKind::io, file.string(), "no such file", "check the path");
    if (std::filesystem::is_directory(status)) {
      throw Error(ErrorKind::io, file.string(), "is a directory", "pass a file in it");
    }
  }
  InputParts parts({InputFile{file}}, {"*"});
  ReadReport report;
  std::string line;
  while (parts.next_part()) {
    LineReader lines(parts, parts.part_name(), report);
    while (lines.next(line)) use(line, lines.number());
  }
}

std::vector<std::string_view> split_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return fields;
}

std::string collapse_blanks(std::string_view text) {
  std::string result;
  for (const std::string_view word : split_fields(text)) {
    if (!result.empty()) result += ' ';
    result += word;
  }
  return result;
}

bool parse_number(std::string_view field, double& value) noexcept {
  field = without_plus(field);
  const auto [end, status] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (end != field.data() + field.size() || field.empty()) return false;
  if (status == std::errc::result_out_of_range) {
    // A number too small for a double is 0; one too large is not a score.
    const std::size_t exponent = field.find_first_of("eE");
    value = 0;
    return exponent != std::string_view::npos && exponent + 1 < field.size() && field[exponent + 1] == '-';
  }
  return status == std::errc() && !std::isnan(value);
}

bool parse_whole_number(std::string_view field, std::int64_t& value) noexcept {
  field = without_plus(field);
  const auto [end, status] = std::from_chars(field.data(), field.data() + field.size(), value);
  return status == std::errc() && end == field.data() + field.size() && !field.empty();
}

void require_word(std::string_view word, std::string_view what, std::string_view holder) {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0'; };
  if (!word.empty() && std::none_of(word.begin(), word.end(), blank)) return;
  throw Error(ErrorKind::invalid_data, fmt::format("{} {}", what, excerpt(word)),
              word.empty() ? "is empty" : fmt::format("contains white space, which {} cannot hold", holder),
              "rename it, or write JSON lines");
}

void bad_line(const std::filesystem::path& file, std::int64_t line, std::string_view problem, std::string_view remedy) {
  throw Error(ErrorKind::invalid_data, fmt::format("{}:{}", input_name(file), line), problem, remedy);
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string piece(text.substr(0, longest));
  replace_malformed_utf8(piece);  // the cut may have split a character
  for (char& c : piece) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';  // file content must not control the terminal
  }
  return fmt::format("\"{}{}\"", piece, text.size() > longest ? "..." : "");
}

}  // namespace relucent::index_tools
