#include "index_tools/program/man_page.h"

#include <sstream>
#include <vector>

#include "relucent/version.h"

namespace relucent::program {
namespace {

// Escapes text for groff: keeps backslashes and hyphens, and prevents lines from being read as macros.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string macro_argument(const std::string& text) {
  std::string result;
  for (const char c : escaped(text)) result += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return "\"" + result + "\"";
}

// Lines that begin with blanks are examples and stay unchanged; an empty line begins a paragraph.
std::string paragraphs(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  bool example = false;
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with(' ');
    if (indented != example) result += indented ? ".RS 2\n.nf\n" : ".fi\n.RE\n";
    example = indented;
    if (line.empty()) {
      result += ".PP\n";
    } else {
      result += escaped(indented ? line.substr(line.find_first_not_of(' ')) : line) + "\n";
    }
  }
  return example ? result + ".fi\n.RE\n" : result;
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

bool is_shown(const CLI::Option& option) { return !option.get_group().empty(); }

std::string options_of(const CLI::App& command) {
  const CLI::Formatter formatter;
  std::string result;
  const auto add = [&](const CLI::Option& option, bool positional) {
    const std::string name = positional ? option.get_name(true) : option.get_name(false, true);
    result += ".TP\n\\fB" + escaped(name) + "\\fR" + escaped(formatter.make_option_opts(&option)) + "\n" +
              escaped(option.get_description()) + "\n";
  };
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : command.get_options()) {
      if (is_shown(*option) && option->get_positional() == positional) add(*option, positional);
    }
  }
  return result;
}

std::string sections_of(const CLI::App& command, const std::string& path) {
  std::string usage = path;
  if (!commands_of(command).empty()) usage += " COMMAND";
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional())
      usage += (option->get_required() ? " " : " [") + option->get_name(true) +
               (option->get_expected_max() > 1 ? "..." : "") + (option->get_required() ? "" : "]");
  }
  std::string result = ".SS " + macro_argument(usage + " [OPTIONS]") + "\n" + escaped(command.get_description()) +
                       ".\n" + options_of(command) + ".PP\n" + paragraphs(command.get_footer());
  for (const CLI::App* inner : commands_of(command)) result += sections_of(*inner, path + " " + inner->get_name());
  return result;
}

}  // namespace

std::string man_page(const CLI::App& program) {
  const std::string& description = program.get_description();
  std::string result = ".TH RELUCENT 1 \"\" " + macro_argument(std::string("Relucent ") + version()) +
                       "\n.SH NAME\nrelucent \\- " +
                       escaped(description.substr(0, description.find_last_not_of('.') + 1)) +
                       "\n.SH SYNOPSIS\n\\fBrelucent\\fR \\fICOMMAND\\fR [OPTIONS]\n.SH OPTIONS\n" +
                       options_of(program) + ".SH DESCRIPTION\n" + paragraphs(program.get_footer()) + ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(program)) {
    result += sections_of(*command, "relucent " + command->get_name());
  }
  return result;
}

}  // namespace relucent::program
