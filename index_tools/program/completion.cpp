#include <algorithm>
#include <string_view>

#include "index_tools/program/command_tree.h"

namespace relucent::program {
namespace {

// The first clause of a help text, for menus that show one line per option.
std::string first_clause(std::string_view text) {
  for (const std::string_view end : {std::string_view(" ("), std::string_view("; "), std::string_view(": ")})
    text = text.substr(0, text.find(end));
  return std::string(text);
}

std::vector<std::string> split_at(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

bool is_word(const std::string& text) { return !text.empty() && text.find_first_of(" \t'\"") == std::string::npos; }

// The values in a help text of the form "Label: a | b (default) | c (a note)"; none if it has another form.
std::vector<std::string> listed_words(std::string_view description) {
  std::vector<std::string> words = split_at(description, " | ");
  if (words.size() < 2) return {};
  if (const std::size_t label = words.front().rfind(": "); label != std::string::npos)
    words.front().erase(0, label + 2);
  for (std::string& word : words) {
    word.erase(std::min(word.size(), word.find(" (")));
    if (!is_word(word)) return {};
    if (word.ends_with(":N")) word.back() = '0';  // the first GPU stands for all
  }
  return words;
}

CompletionValue value_of(const CLI::Option& option) {
  CompletionValue value;
  const std::string type = option.get_type_name();  // with what its checks add: "TEXT:{title,description}"
  value.name = type.substr(0, type.find_first_of(": "));
  const std::size_t opening = type.find('{');
  const std::size_t closing = type.rfind('}');
  const std::string place = option.get_positional() ? option.get_name(true) : std::string();
  const auto names = [&](std::string_view word) {
    return value.name.find(word) != std::string::npos || place.find(word) != std::string::npos;
  };
  if (opening != std::string::npos && closing > opening) {
    value.words = split_at(std::string_view(type).substr(opening + 1, closing - opening - 1), ",");
  } else {
    value.words = listed_words(option.get_description());
  }
  if (!value.words.empty()) {
    value.kind = CompletionValue::Kind::words;
  } else if (names("FILE") || names("PATH")) {
    value.kind = CompletionValue::Kind::files;
  } else if (names("DIR")) {
    value.kind = CompletionValue::Kind::folders;
  }
  return value;
}

CompletionOption completion_of(const CLI::Option& option) {
  CompletionOption result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  result.description = first_clause(option.get_description());
  result.takes_value = option.get_items_expected_max() > 0;
  result.repeats = option.get_items_expected_max() > 1;
  if (result.takes_value) result.value = value_of(option);
  return result;
}

void add_rows(const CLI::App& command, const std::string& path, std::vector<CompletionCommand>& table) {
  CompletionCommand row;
  row.path = path;
  bool placed = false;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_shown(*option)) continue;
    if (!option->get_positional()) {
      row.options.push_back(completion_of(*option));
    } else if (!placed) {
      row.place = value_of(*option);
      placed = true;
    }
  }
  for (const CLI::App* inner : commands_of(command))
    row.commands.emplace_back(inner->get_name(), first_clause(inner->get_description()));
  table.push_back(std::move(row));
  for (const CLI::App* inner : commands_of(command)) add_rows(*inner, path + " " + inner->get_name(), table);
}

}  // namespace

std::vector<CompletionCommand> completion_table(const CLI::App& program) {
  std::vector<CompletionCommand> table;
  add_rows(program, program.get_name(), table);
  return table;
}

}  // namespace relucent::program
