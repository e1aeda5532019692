#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What reading strict TOML needs: files and text as tables, and errors with their place and remedy.
namespace relucent::config {

/// A file's text. Throws Error: `io` if it cannot be read, `invalid_data` if it is larger than 1 MiB.
std::string read_toml_file(const std::filesystem::path& file);

/// @param name  of the file, for errors
/// Throws Error `invalid_data` at file:line:column for text that is not TOML or is nested too deeply.
toml::table parse_toml(std::string_view text, std::string_view name);

/// Throws Error `invalid_data` whose place is "name:line:column".
[[noreturn]] void toml_error(std::string_view name, const toml::source_region& source, const std::string& problem,
                             const std::string& remedy);
/// "name:line:column".
std::string toml_place(std::string_view name, const toml::source_region& source);

/// `did you mean "NAME"?`, or all names.
std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& names);

/// A node's type in words: "a whole number".
const char* toml_type(const toml::node& node);

/// A table's entries in text order, so that the first mistake is reported.
std::vector<std::pair<const toml::key*, const toml::node*>> in_order(const toml::table& table);

}  // namespace relucent::config
