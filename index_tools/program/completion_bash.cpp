#include <fmt/core.h>

#include "base/text.h"
#include "index_tools/program/command_tree.h"

namespace relucent::program {
namespace {

std::string bash_assignments(const CompletionValue& value) {
  switch (value.kind) {
    case CompletionValue::Kind::words: return fmt::format("kind=words values='{}'", join(value.words, " "));
    case CompletionValue::Kind::files: return "kind=files";
    case CompletionValue::Kind::folders: return "kind=folders";
    case CompletionValue::Kind::other: return "kind=other";
  }
  return {};
}

// Bash splits words at "=" and ":" also, so that --device=cuda:0 arrives as five words.
constexpr const char* bash_head = R"(# Completion of relucent for bash. Written by: relucent completion bash
_relucent() {
  local path=relucent word= option= distance=0 kind= values= place= commands= options= repeats= i
  local -a words=()
  COMPREPLY=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == : || ( $i -gt 1 && ${COMP_WORDS[i - 1]} == : ) ]] && ((${#words[@]} > 0)); then
      words[${#words[@]} - 1]+=${COMP_WORDS[i]}
    elif [[ ${COMP_WORDS[i]} != = ]]; then
      words+=("${COMP_WORDS[i]}")
    elif ((i == COMP_CWORD)); then
      words+=("")
    fi
  done
  word=${words[${#words[@]} - 1]}
  for ((i = 0; i < ${#words[@]} - 1; i++)); do
    distance=$((distance + 1))
    if [[ ${words[i]} == -?* ]]; then
      option=${words[i]} distance=0
    fi
    case "$path ${words[i]}" in
      )";

constexpr const char* bash_tail = R"(
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  fi
  if [[ -z $option || -z $kind || ( $distance -gt 0 && -z $repeats ) ]]; then
    kind=$place values=$placed
    if [[ -n $commands ]]; then kind=words values=$commands; fi
  fi
  local prefix=
  if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then prefix=${word%"${word##*:}"}; fi
  case $kind in
    words) COMPREPLY=($(compgen -W "$values" -- "$word")) ;;
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
  esac
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$prefix"}; done
}
complete -F _relucent relucent
)";

}  // namespace

std::string bash_completion(const std::vector<CompletionCommand>& table) {
  std::string result = bash_head;
  for (std::size_t row = 1; row < table.size(); ++row)
    result += (row > 1 ? " | \\\n      " : "") + fmt::format("\"{}\"", table[row].path);
  result += ") path+=\" ${words[i]}\" ;;\n    esac\n  done\n  local placed=\n  case $path in\n";
  for (const CompletionCommand& command : table) {
    const std::string names =
        join(command.options, " ", [](const CompletionOption& option) { return join(option.names, " "); });
    const std::string below = join(command.commands, " ", [](const auto& one) { return one.first; });
    result += fmt::format("    \"{}\")\n      options='{}'\n", command.path, names);
    if (!below.empty()) result += fmt::format("      commands='{}'\n", below);
    result +=
        fmt::format("      {}\n      place=$kind placed=$values kind= values= ;;\n", bash_assignments(command.place));
  }
  result += "  esac\n  case \"$path $option\" in\n";
  for (const CompletionCommand& command : table) {
    for (const CompletionOption& option : command.options) {
      if (!option.takes_value) continue;
      const std::string pattern = join(
          option.names, " | ", [&](const std::string& name) { return fmt::format("\"{} {}\"", command.path, name); });
      result +=
          fmt::format("    {}) {}{} ;;\n", pattern, bash_assignments(option.value), option.repeats ? " repeats=1" : "");
    }
  }
  return result + "  esac\n" + bash_tail;
}

}  // namespace relucent::program
