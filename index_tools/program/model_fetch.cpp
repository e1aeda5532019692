#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "index_tools/hub/fetch_model.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/interrupt_stop.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

struct FetchOptions {
  std::string name;
  bool quiet = false;
};

int fetch(const FetchOptions& options) {
  const std::optional<HubName> name = read_hub_name(options.name);
  if (!name) {
    throw Error(ErrorKind::usage, options.name, "is not the name of a model on the hub",
                "give ORG/NAME or ORG/NAME@REVISION");
  }
  std::optional<index_tools::Progress> progress;
  const auto show = [&](std::uint64_t done, std::uint64_t total) {
    using index_tools::Progress;
    if (!progress) progress.emplace("fetching", Progress::Unit::bytes, static_cast<std::int64_t>(total), options.quiet);
    progress->update(0, static_cast<std::int64_t>(done));
  };
  const InterruptStop interrupt;
  const index_tools::FetchedModel model =
      index_tools::fetch_model(*name, index_tools::hub_settings_from_environment(), show, {{}, interrupt.token()});
  progress.reset();
  std::cout << fmt::format("{} at {}: {} files, {:.1f} MB, of which {:.1f} MB were fetched\n{}\n", name->repository,
                           model.commit, model.files, static_cast<double>(model.bytes) / 1e6,
                           static_cast<double>(model.fetched) / 1e6, model.folder.string());
  return ok;
}

}  // namespace

void add_model_fetch(CLI::App& model, Action& chosen) {
  const auto options = std::make_shared<FetchOptions>();
  CLI::App* command = model.add_subcommand("fetch", "Bring a model from Hugging Face's hub into its cache");
  command->add_option("NAME", options->name, "ORG/NAME or ORG/NAME@REVISION")->required();
  command->add_flag("--quiet", options->quiet, "Show no progress");
  command->footer(
      "The model's name then stands for its folder everywhere. Files that are there already are not fetched again; a "
      "fetch that was cut off or interrupted is resumed.\nEnvironment: HF_HUB_CACHE, HF_HOME, HF_ENDPOINT, HF_TOKEN, "
      "HF_HUB_OFFLINE.\n\nExample:\n  relucent model fetch cross-encoder/ms-marco-MiniLM-L6-v2\n"
      "  relucent search --index my-index --model cross-encoder/ms-marco-MiniLM-L6-v2 \"a query\"");
  on_selection(*command, chosen, [options] { return fetch(*options); });
}

}  // namespace relucent::program
