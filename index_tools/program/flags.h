#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <string>

// The kinds of options that commands have. Each `name` is as --help shows it: the names of the option and, after a
// blank, what its value is ("--index DIR").

namespace relucent::program {

template <typename Value>
CLI::Option* add_value(CLI::App& command, const std::string& name, Value& value, const std::string& help) {
  const std::size_t blank = std::min(name.find(' '), name.size());
  CLI::Option* option = command.add_option(name.substr(0, blank), value, help);
  return blank < name.size() ? option->type_name(name.substr(blank + 1)) : option;
}

/// A value whose default --help shows.
template <typename Value>
CLI::Option* add_default(CLI::App& command, const std::string& name, Value& value, const std::string& help) {
  return add_value(command, name, value, help)->capture_default_str();
}

/// A number above 0 whose default --help shows.
template <typename Value>
CLI::Option* add_positive(CLI::App& command, const std::string& name, Value& value, const std::string& help) {
  return add_default(command, name, value, help)->check(CLI::PositiveNumber);
}

/// One of some words.
inline CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                               std::initializer_list<const char*> words, const std::string& help) {
  return add_default(command, name, value, help)->check(CLI::IsMember(words));
}

/// Values separated by commas.
template <typename Values>
CLI::Option* add_list(CLI::App& command, const std::string& name, Values& values, const std::string& help) {
  return add_value(command, name, values, help)->delimiter(',')->allow_extra_args(false);
}

}  // namespace relucent::program
