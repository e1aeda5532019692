#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index_tools/program/commands.h"
#include "index_tools/program/index_writer.h"
#include "index_tools/program/profile.h"
#include "index_tools/program/trace_export.h"
#include "relucent/error.h"
#include "server/engine.h"
#include "server/indexes.h"
#include "server/service.h"
#include "server/shard_engine.h"
#include "server/tokens.h"

namespace relucent::program {
namespace {

struct ServeOptions {
  std::vector<std::string> indexes;
  std::vector<std::string> shards;
  ProfileFlags profile;
  std::optional<std::string> host, token_file, access_log, otlp_endpoint;
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
  if (options.otlp_endpoint) config.server.otlp_endpoint = *options.otlp_endpoint;
  check_config(config);
  return config;
}

/// Tells the operator. If nobody reads standard error, the message is lost: no request and no signal
/// waits for it.
void say(const std::string& message) {
  const std::string line = fmt::format("relucent: {}\n", message);
  for (std::string_view rest = line; !rest.empty();) {
    // So much is written to a pipe without waiting once poll() reports that there is room.
    pollfd wanted{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&wanted, 1, 0) <= 0) return;
    const ssize_t count = ::write(STDERR_FILENO, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
    if (count <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// What a front shows its shards.
std::string first_token(const Config& config) { return server::Tokens::load(config.server.token_file).first(); }

struct ServedIndex {
  std::string name;  // empty: the only one
  std::filesystem::path folder;
};

/// NAME=DIR, or a folder alone.
ServedIndex parse_index(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || !server::is_index_name(argument.substr(0, equals)) ||
      std::filesystem::is_directory(argument, ignored)) {
    return {{}, argument};
  }
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

/// Throws Error unless all of several indexes have names of their own.
std::vector<ServedIndex> parse_indexes(const std::vector<std::string>& arguments) {
  std::vector<ServedIndex> indexes;
  for (const std::string& argument : arguments) {
    ServedIndex index = parse_index(argument);
    if (index.name.empty() && arguments.size() > 1) {
      throw Error(ErrorKind::usage, "--index " + argument, "has no name, which one of several indexes needs",
                  "pass --index NAME=DIR; a name has up to 64 letters, digits, '.', '_' and '-'");
    }
    if (index.folder.empty() && !index.name.empty()) {
      throw Error(ErrorKind::usage, "--index " + argument, "names no directory", "pass --index NAME=DIR");
    }
    if (std::ranges::find(indexes, index.name, &ServedIndex::name) != indexes.end()) {
      throw Error(ErrorKind::usage, "--index " + argument, "there are two indexes of this name",
                  "give each a name of its own");
    }
    indexes.push_back(std::move(index));
  }
  return indexes;
}

/// Opens the indexes. One that cannot be reopened stays what it was in `before`. All share the model, unless it changes
/// while it is read.
std::shared_ptr<server::Engine> open_indexes(const std::vector<ServedIndex>& indexes, const Config& config,
                                             const std::shared_ptr<server::Engine>& before) {
  if (indexes.empty()) return server::open_engine({}, config, before);
  if (indexes.front().name.empty()) return server::open_engine(indexes.front().folder, config, before);
  std::vector<server::NamedEngine> engines;
  std::optional<Error> problem;
  std::shared_ptr<server::Engine> other;  // the first that is open
  for (const ServedIndex& index : indexes) {
    const auto old = before ? before->engine_of(index.name) : nullptr;
    try {
      engines.push_back({index.name, server::open_engine(index.folder, config, old, other)});
      if (!other) other = engines.back().engine;
    } catch (const Error& error) {
      const Error named(error.kind(), fmt::format("index {}: {}", index.name, error.place()), error.problem(),
                        error.remedy());
      if (!old) throw named;
      engines.push_back({index.name, old});
      say(fmt::format("index {} was not reloaded, and is served as before: {}", index.name, error.what()));
      if (!problem) problem.emplace(named);
    }
  }
  if (!other && problem) throw *problem;
  return server::make_indexes(std::move(engines));
}

/// The folder of the only index; empty: none.
std::filesystem::path only_folder(const std::vector<ServedIndex>& indexes, const Config& config) {
  return indexes.empty() ? std::filesystem::path(config.index.path) : indexes.front().folder;
}

/// Null unless requests may change the index.
std::shared_ptr<server::DocumentWriter> open_writer(const ServeOptions& options,
                                                    const std::vector<ServedIndex>& indexes, const Config& config) {
  if (!options.writable) return nullptr;
  if (indexes.size() > 1) {
    throw Error(ErrorKind::usage, "--writable", "is possible for one index, not for several",
                "change the others with `relucent index --update` and `relucent delete`, and pass --reopen");
  }
  const std::filesystem::path index = only_folder(indexes, config);
  if (index.empty()) {
    throw Error(ErrorKind::usage, "--writable", "there is no index to write", "pass --index DIR");
  }
  return open_index_writer(index, config);
}

int run(const ServeOptions& options) {
  const std::vector<ServedIndex> indexes = parse_indexes(options.indexes);
  if (!options.shards.empty() && !options.indexes.empty()) {
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
  const Config first = load(options);
  const ServerConfig& settings = first.server;
  std::string description;
  const auto open = [&](const std::shared_ptr<server::Engine>& before) {
    const Config config = load(options);
    if (options.writable && only_folder(indexes, config) != only_folder(indexes, first)) {
      throw Error(ErrorKind::usage, "[index] path", "names another index than the one that this server writes",
                  "start a server for that index");
    }
    auto engine = options.shards.empty() ? open_indexes(indexes, config, before)
                                         : server::open_shards(options.shards, first_token(config), config);
    if (!engine->can_rerank() && !engine->can_search()) {
      throw Error(ErrorKind::usage, "serve", "there is nothing to serve: no model and no index",
                  "set [rescorer] enabled = true, or pass --index DIR");
    }
    description = engine->can_rerank() ? engine->model().description : "BM25";
    return engine;
  };
  auto service =
      std::make_unique<server::Service>(settings, open, say, std::chrono::seconds(options.reopen),
                                        trace_export_settings(settings), open_writer(options, indexes, first));
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
  command
      ->add_option(
          "--index", options->indexes,
          "Index directory for /search (default: the profile's, or none), or NAME=DIR, several times, of which "
          "requests choose one by `index` or get the first")
      ->type_name("DIR")
      ->allow_extra_args(false);
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
      ->add_option("--otlp-endpoint", options->otlp_endpoint,
                   "Collector that gets a span for each request, OTLP/HTTP as JSON, for example "
                   "http://127.0.0.1:4318 (default: $OTEL_EXPORTER_OTLP_ENDPOINT, or none)")
      ->type_name("URL");
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
      "  relucent serve --index news=news.index --index papers=papers.index\n"
      "  relucent serve --index my.index --writable --token-file tokens\n"
      "  curl -H 'Content-Type: application/json' localhost:8080/search -d '{\"query\": \"why is the sky blue\"}'");
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace relucent::program
