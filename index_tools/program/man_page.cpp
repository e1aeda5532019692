#include <fmt/core.h>

#include <sstream>

#include "index_tools/program/command_tree.h"
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
  return fmt::format("\"{}\"", result);
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

std::string options_of(const CLI::App& command) {
  const CLI::Formatter formatter;
  std::string result;
  const auto add = [&](const CLI::Option& option, bool positional) {
    const std::string name = positional ? option.get_name(true) : option.get_name(false, true);
    result += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", escaped(name), escaped(formatter.make_option_opts(&option)),
                          escaped(option.get_description()));
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
      usage += fmt::format(" {}{}{}{}", option->get_required() ? "" : "[", option->get_name(true),
                           option->get_expected_max() > 1 ? "..." : "", option->get_required() ? "" : "]");
  }
  std::string result =
      fmt::format(".SS {}\n{}.\n{}.PP\n{}", macro_argument(usage + " [OPTIONS]"), escaped(command.get_description()),
                  options_of(command), paragraphs(command.get_footer()));
  for (const CLI::App* inner : commands_of(command))
    result += sections_of(*inner, fmt::format("{} {}", path, inner->get_name()));
  return result;
}

}  // namespace

std::string man_page(const CLI::App& program) {
  const std::string& description = program.get_description();
  std::string result = fmt::format(
      ".TH RELUCENT 1 \"\" {}\n.SH NAME\nrelucent \\- {}\n.SH SYNOPSIS\n\\fBrelucent\\fR \\fICOMMAND\\fR [OPTIONS]\n"
      ".SH OPTIONS\n{}.SH DESCRIPTION\n{}.SH COMMANDS\n",
      macro_argument(fmt::format("Relucent {}", version())),
      escaped(description.substr(0, description.find_last_not_of('.') + 1)), options_of(program),
      paragraphs(program.get_footer()));
  for (const CLI::App* command : commands_of(program)) {
    result += sections_of(*command, "relucent " + command->get_name());
  }
  return result;
}

}  // namespace relucent::program
