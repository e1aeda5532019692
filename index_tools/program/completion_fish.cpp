#include <fmt/core.h>

#include "base/text.h"
#include "index_tools/program/command_tree.h"

namespace relucent::program {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish_value(const CompletionValue& value) {
  switch (value.kind) {
    case CompletionValue::Kind::words: return " -x -a " + fish_quoted(join(value.words, " "));
    case CompletionValue::Kind::files: return " -r -F";
    case CompletionValue::Kind::folders: return " -x -a '(__fish_complete_directories)'";
    case CompletionValue::Kind::other: return " -x";
  }
  return {};
}

}  // namespace

std::string fish_completion(const std::vector<CompletionCommand>& table) {
  std::string result =
      "# Completion of relucent for fish. Written by: relucent completion fish\n"
      "function __relucent_at --description 'Whether the command line has come to this command'\n"
      "    set -l path relucent\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        if contains -- \"$path $word\" $__relucent_commands\n"
      "            set path \"$path $word\"\n"
      "        end\n"
      "    end\n"
      "    test \"$path\" = \"$argv[1]\"\n"
      "end\n\n"
      "set -g __relucent_commands";
  for (std::size_t row = 1; row < table.size(); ++row) result += " \\\n    " + fish_quoted(table[row].path);
  result += "\n\ncomplete -c relucent -f\n";
  for (const CompletionCommand& command : table) {
    const std::string start = fmt::format("complete -c relucent -n '__relucent_at \"{}\"'", command.path);
    for (const auto& [name, description] : command.commands)
      result += fmt::format("{} -a {} -d {}\n", start, name, fish_quoted(description));
    if (command.commands.empty() && command.place.kind != CompletionValue::Kind::other)
      result += start + (command.place.kind == CompletionValue::Kind::files ? " -F" : fish_value(command.place)) + "\n";
    for (const CompletionOption& option : command.options) {
      result += start;
      for (const std::string& name : option.names)
        result += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.takes_value) result += fish_value(option.value);
      result += " -d " + fish_quoted(option.description) + "\n";
    }
  }
  return result;
}

}  // namespace relucent::program
