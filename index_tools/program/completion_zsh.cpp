#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "index_tools/program/command_tree.h"

namespace relucent::program {
namespace {

// For a specification of _arguments inside single quotes.
std::string zsh_quoted(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result;
}

std::string zsh_action(const CompletionValue& value) {
  switch (value.kind) {
    case CompletionValue::Kind::words: return fmt::format("({})", join(value.words, " ", zsh_quoted));
    case CompletionValue::Kind::files: return "_files";
    case CompletionValue::Kind::folders: return "_files -/";
    case CompletionValue::Kind::other: return " ";
  }
  return {};
}

std::string zsh_function(const std::string& path) {
  std::string name = "_" + path;
  std::replace(name.begin(), name.end(), ' ', '_');
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

std::string zsh_completion(const std::vector<CompletionCommand>& table) {
  std::string result = "#compdef relucent\n# Completion of relucent for zsh. Written by: relucent completion zsh\n";
  for (const CompletionCommand& command : table) {
    result += fmt::format("\n{}() {{\n  local curcontext=\"$curcontext\" state line\n  _arguments -C",
                          zsh_function(command.path));
    for (const CompletionOption& option : command.options) {
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        result += fmt::format(" \\\n    '{}{}{}[{}]", option.repeats ? "*" : "", name,
                              !option.takes_value ? ""
                              : is_long           ? "="
                                                  : "+",
                              zsh_quoted(option.description));
        if (option.takes_value)
          result += fmt::format(":{}:{}", zsh_quoted(option.value.name), zsh_action(option.value));
        result += "'";
      }
    }
    if (command.commands.empty()) {
      result += fmt::format(" \\\n    '*:{}:{}'\n}}\n", zsh_quoted(command.place.name), zsh_action(command.place));
      continue;
    }
    result +=
        " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n    command)\n"
        "      local -a commands=(";
    for (const auto& [name, description] : command.commands)
      result += fmt::format("\n        '{}:{}'", name, zsh_quoted(description));
    result += ")\n      _describe command commands ;;\n    argument)\n      case $line[1] in\n";
    for (const auto& [name, description] : command.commands)
      result += fmt::format("        {}) {} ;;\n", name, zsh_function(command.path + " " + name));
    result += "      esac ;;\n  esac\n}\n";
  }
  // Autoloaded, the file is the function's body; sourced, it registers the function.
  return result +
         "\nif [ \"$funcstack[1]\" = _relucent ]; then\n  _relucent \"$@\"\nelse\n  compdef _relucent relucent\n"
         "fi\n";
}

}  // namespace relucent::program
