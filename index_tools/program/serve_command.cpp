#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "index_tools/program/commands.h"
#include "index_tools/program/index_writer.h"
#include "index_tools/program/profile.h"
#include "relucent/error.h"
#include "server/engine.h"
#include "server/service.h"
#include "server/shard_engine.h"
#include "server/tokens.h"

namespace relucent::program {
namespace {

struct ServeOptions {
  std::string index;
  std::vector<std::string> shards;
  ProfileFlags profile;
  std::optional<std::string> host, token_file, access_log;
  std::optional<int> port;
  int reopen = 0;  // seconds
  bool writable = false;
};

Config load(const ServeOptions& options) {
  Config config = load_profile(options.profile);
  if (options.host) config.server.host = *options.host;
  if (options.port) config.server.port = *options.port;
  if (options.token_file) config.server.token_file = *options.token_file;
  if (options.access_log) config.server.access_log = *options.access_log;
  check_config(config);
  return config;
}

void say(const std::string& message) { std::cerr << fmt::format("relucent: {}\n", message) << std::flush; }

/// What a front shows its shards.
std::string first_token(const Config& config) { return server::Tokens::load(config.server.token_file).first(); }

std::shared_ptr<server::DocumentWriter> open_writer(const ServeOptions& options) {
  const Config config = load(options);
  const std::string index = options.index.empty() ? config.index.path : options.index;
  if (index.empty()) {
    throw Error(ErrorKind::usage, "--writable", "there is no index to write", "pass --index DIR");
  }
  return open_index_writer(index, config);
}

int run(const ServeOptions& options) {
  if (!options.shards.empty() && !options.index.empty()) {
    throw Error(ErrorKind::usage, "--shards", "cannot be combined with --index", "serve each index by itself");
  }
  if (options.reopen > 0 && !options.shards.empty()) {
    throw Error(ErrorKind::usage, "--reopen", "needs an index, which a front over shards does not have",
                "pass it to the server of each shard");
  }
  if (options.writable && !options.shards.empty()) {
    throw Error(ErrorKind::usage, "--writable", "needs an index, which a front over shards does not have",
                "pass it to the server of each shard");
  }
  const ServerConfig settings = load(options).server;
  std::string description;
  const auto open = [&](const std::shared_ptr<server::Engine>& before) {
    const Config config = load(options);
    auto engine = options.shards.empty() ? server::open_engine(options.index, config, before)
                                         : server::open_shards(options.shards, first_token(config), config);
    if (!engine->can_rerank() && !engine->can_search()) {
      throw Error(ErrorKind::usage, "serve", "there is nothing to serve: no model and no index",
                  "set [rescorer] enabled = true, or pass --index DIR");
    }
    description = engine->can_rerank() ? engine->model().description : "BM25";
    return engine;
  };
  auto service = std::make_unique<server::Service>(settings, open, say, std::chrono::seconds(options.reopen),
                                                   options.writable ? open_writer(options) : nullptr);
  const server::Service::Ended ended = service->run([&](std::uint16_t port) {
    const bool v6 = settings.host.find(':') != std::string::npos;
    say(fmt::format("serving http://{}:{} with {}", v6 ? "[" + settings.host + "]" : settings.host, port, description));
  });
  if (ended.dropped > 0) say(fmt::format("{} requests were dropped", ended.dropped));
  if (ended.stuck_threads > 0) {
    say(fmt::format("{} threads did not end in time", ended.stuck_threads));
    std::_Exit(ended.dropped == 0 ? ok : degraded);  // what they still use must stay
  }
  return ended.dropped == 0 ? ok : degraded;
}

}  // namespace

void add_serve(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("serve", "Rerank texts and search an index over HTTP");
  auto options = std::make_shared<ServeOptions>();
  command->add_option("--index", options->index, "Index directory for /search (default: the profile's, or none)")
      ->type_name("DIR");
  command
      ->add_option("--shards", options->shards,
                   "Servers that have the parts of one index, in the order of the documents: /search merges theirs")
      ->type_name("URL");
  command->add_option("--host", options->host, "Address to listen on (default: 127.0.0.1, this machine alone)")
      ->type_name("ADDRESS");
  command->add_option("--port", options->port, "TCP port; 0: any free one (default: 8080)")->type_name("PORT");
  command
      ->add_option("--token-file", options->token_file,
                   "Bearer tokens, one per line, of which requests must have one (default: $RELUCENT_TOKEN, or none)")
      ->type_name("FILE");
  command
      ->add_option("--access-log", options->access_log, "JSON lines; \"-\": standard output; \"\": none (default: -)")
      ->type_name("FILE");
  command
      ->add_option("--reopen", options->reopen,
                   "Look for a new commit of the index so often, and search it; 0: only after SIGHUP (default: 0)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 86400));
  command->add_flag("--writable", options->writable,
                    "Let requests change the index: POST /documents and DELETE /documents/ID; no other process can "
                    "write it meanwhile");
  add_profile_flags(*command, options->profile);
  command->footer(
      "POST /rerank (text-embeddings-inference, llama.cpp, vLLM, Jina), /v2/rerank (Cohere), /search;\n"
      "GET /openapi.json describes them all; /health, /ready, /info, /metrics, and a page at /. SIGTERM drains, SIGHUP "
      "reloads index and profile.\n"
      "Limits and timeouts: [server] in the profile, docs/serving.md.\n\n"
      "Example:\n"
      "  relucent serve --index my.index --port 8080\n"
      "  relucent serve --index my.index --writable --token-file tokens\n"
      "  curl -H 'Content-Type: application/json' localhost:8080/search -d '{\"query\": \"why is the sky blue\"}'");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace relucent::program
