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
  show->callback([&chosen, file] {
    chosen = [file] {
      std::cout << to_toml(load_profile_file(*file));
      return ok;
    };
  });

  CLI::App* check = command->add_subcommand("check", "Check a profile; errors name file, line and column");
  check->add_option("FILE", *file, "Profile; \"-\": standard input")->required();
  check->footer("Example:\n  relucent config check my.toml");
  check->callback([&chosen, file] {
    chosen = [file] {
      load_profile_file(*file);
      std::cout << index_tools::input_name(*file) << ": ok\n";
      return ok;
    };
  });
}

}  // namespace relucent::program
