#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/profile.h"
#include "index_tools/program/terminal.h"
#include "relucent/search_session.h"
#include "server/json.h"
#include "server/result_json.h"

namespace relucent::program {
namespace {

struct DocOptions {
  std::string index, config;
  std::vector<std::string> ids;
  bool json = false;
};

void print(const StoredDocument& document) {
  std::cout << printable(document.id) << "\n";
  if (!document.metadata.empty()) {
    std::cout << printable(server::to_text(server::object_json(document.metadata))) << "\n";
  }
  std::cout << document.text << "\n";
}

int run(const DocOptions& options) {
  Config config = load_profile_file(options.config);
  config.rescorer.enabled = false;
  refuse_if(options.index.empty() && config.index.path.empty(), "--index", "is missing",
            "pass --index DIR, or set [index] path in the profile");
  exit_when_interrupted();
  const SearchSession session(options.index, config, QuerySyntax::words);
  int code = ok;
  bool first = true;
  for (const std::string& id : options.ids) {
    const std::optional<StoredDocument> document = session.document(id);
    if (!document) {
      std::cout.flush();
      std::cerr << "relucent: error: the index has no document \"" << printable(id) << "\"\n";
      code = failed;
      continue;
    }
    if (options.json) {
      std::cout << server::to_text(server::document_json(*document)) << "\n";
    } else {
      if (!first) std::cout << "\n";
      print(*document);
    }
    first = false;
  }
  return code;
}

}  // namespace

void add_doc(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("doc", "Show documents of an index by their ids");
  auto options = std::make_shared<DocOptions>();
  command->add_option("ID", options->ids, "Ids of documents")->required();
  add_value(*command, "--index DIR", options->index, "Index directory (default: the profile's [index] path)");
  add_value(*command, "--config FILE", options->config, "Profile with the index and its field names");
  command->add_flag("--json", options->json, "Print one JSON object per document, one per line");
  command->footer(
      "Prints id, metadata and text of each document. Exits with 1 if the index lacks one of them.\n\n"
      "Example:\n"
      "  relucent doc --index my.index d1 d2\n");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
