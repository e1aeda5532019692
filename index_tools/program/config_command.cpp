#include <iostream>
#include <memory>
#include <string>

#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/profile.h"
#include "relucent/config.h"

namespace relucent::program {

void add_config(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("config", "Show or check a profile");
  command->require_subcommand(1);
  command->footer("Example:\n  relucent config show > my.toml\n  relucent config check my.toml");

  auto file = std::make_shared<std::string>();
  CLI::App* show = command->add_subcommand("show", "Print every key with its effective value, as TOML");
  show->add_option("FILE", *file, "Profile; \"-\": standard input (default: show the defaults)");
  show->footer("Example:\n  relucent config show config/fusion.toml");
  on_selection(*show, chosen, [file] {
    std::cout << to_toml(load_profile_file(*file));
    return ok;
  });

  CLI::App* check = command->add_subcommand("check", "Check a profile; prints every mistake with its line and column");
  check->add_option("FILE", *file, "Profile; \"-\": standard input")->required();
  check->footer("Example:\n  relucent config check my.toml");
  on_selection(*check, chosen, [file] {
    const std::vector<Error> errors = errors_of_profile(*file);
    for (const Error& error : errors) std::cerr << "relucent: error: " << error.what() << "\n";
    if (!errors.empty()) return exit_code(errors.front().kind());
    std::cout << index_tools::input_name(*file) << ": ok\n";
    return int{ok};
  });
}

}  // namespace relucent::program
