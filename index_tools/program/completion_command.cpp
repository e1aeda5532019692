#include <iostream>
#include <memory>
#include <string>

#include "index_tools/program/command_tree.h"
#include "index_tools/program/commands.h"

namespace relucent::program {

void add_completion(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("completion", "Print the script that completes relucent in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "`cmake --install` and the packages put the scripts where the shells look for them.\n\nExample:\n"
      "  relucent completion bash > ~/.local/share/bash-completion/completions/relucent\n"
      "  relucent completion fish > ~/.config/fish/completions/relucent.fish");
  on_selection(*command, chosen, [&program, shell] {
    const auto table = completion_table(program);
    std::cout << (*shell == "bash"  ? bash_completion(table)
                  : *shell == "zsh" ? zsh_completion(table)
                                    : fish_completion(table));
    return int{ok};
  });
}

}  // namespace relucent::program
