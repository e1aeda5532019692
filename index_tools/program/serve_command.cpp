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

#include "index_tools/indexing/index_change.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/profile.h"
#include "index_tools/program/trace_export.h"
#include "relucent/error.h"
#include "relucent/index_files.h"
#include "relucent/model/cross_encoder.h"
#include "server/document_writer.h"
#include "server/engine.h"
#include "server/service.h"
#include "server/tokens.h"

namespace relucent::program {
namespace {

using index_tools::IndexChange;

/// Writes the index of the server, of which it holds the lock, until it is destroyed.
class IndexWriter final : public server::DocumentWriter {
 public:
  IndexWriter(std::filesystem::path index, const Config& config) : index_(std::move(index)) {
    options_.fields = config.index;
    options_.first_stage = config.first_stage;
    options_.metadata = true;
    options_.threads = 2;  // so that requests need not wait for merges
    if (index_files(index_).token_ids) options_.token_ids_of = model_folder(config.rescorer.model);
    change_.emplace(index_, options_);
  }

  ~IndexWriter() override {
    try {
      if (change_) change_->close();
    } catch (const Error&) {  // all that was answered is committed
    }
  }

  Change put(std::span<const server::NewDocument> documents) override {
    return commit([&](IndexChange& change) {
      for (const server::NewDocument& document : documents) change.put(document.id, document.text, document.metadata);
    });
  }

  Change remove(const std::string& id) override {
    return commit([&](IndexChange& change) { change.remove(id); });
  }

 private:
  /// After an error, such as a full disk, the next request begins from the last commit.
  template <typename Step>
  Change commit(const Step& step) {
    if (!change_) change_.emplace(index_, options_);
    try {
      step(*change_);
      change_->commit();
    } catch (...) {
      change_.reset();
      throw;
    }
    const IndexChange::Counts& counts = change_->counts();
    return {counts.last.documents, counts.last.unknown_ids, counts.documents};
  }

  std::filesystem::path index_;
  IndexBuilder::Options options_;
  std::optional<IndexChange> change_;
};

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
    refuse_if(index.name.empty() && arguments.size() > 1, "--index " + argument,
              "has no name, which one of several indexes needs",
              "pass --index NAME=DIR; a name has up to 64 letters, digits, '.', '_' and '-'");
    refuse_if(index.folder.empty() && !index.name.empty(), "--index " + argument, "names no directory",
              "pass --index NAME=DIR");
    refuse_if(std::ranges::find(indexes, index.name, &ServedIndex::name) != indexes.end(), "--index " + argument,
              "there are two indexes of this name", "give each a name of its own");
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
  refuse_if(indexes.size() > 1, "--writable", "is possible for one index, not for several",
            "change the others with `relucent index --update` and `relucent delete`, and pass --reopen");
  const std::filesystem::path index = only_folder(indexes, config);
  refuse_if(index.empty(), "--writable", "there is no index to write", "pass --index DIR");
  return std::make_shared<IndexWriter>(index, config);
}

int run(const ServeOptions& options) {
  const std::vector<ServedIndex> indexes = parse_indexes(options.indexes);
  refuse_if(!options.shards.empty() && !options.indexes.empty(), "--shards", "cannot be combined with --index",
            "serve each index by itself");
  refuse_if(options.reopen > 0 && !options.shards.empty(), "--reopen",
            "needs an index, which a front over shards does not have", "pass it to the server of each shard");
  refuse_if(options.writable && !options.shards.empty(), "--writable",
            "needs an index, which a front over shards does not have", "pass it to the server of each shard");
  const Config first = load(options);
  const ServerConfig& settings = first.server;
  std::string description;
  const auto open = [&](const std::shared_ptr<server::Engine>& before) {
    const Config config = load(options);
    refuse_if(options.writable && only_folder(indexes, config) != only_folder(indexes, first), "[index] path",
              "names another index than the one that this server writes", "start a server for that index");
    auto engine = options.shards.empty() ? open_indexes(indexes, config, before)
                                         : server::open_shards(options.shards, first_token(config), config);
    refuse_if(!engine->can_rerank() && !engine->can_search(), "serve",
              "there is nothing to serve: no model and no index", "set [rescorer] enabled = true, or pass --index DIR");
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
  add_value(*command, "--index DIR", options->indexes,
            "Index directory for /search (default: the profile's, or none), or NAME=DIR, several times, of which "
            "requests choose one by `index` or get the first")
      ->allow_extra_args(false);
  add_value(*command, "--shards URL", options->shards,
            "Servers that have the parts of one index, in the order of the documents: /search merges theirs");
  add_value(*command, "--host ADDRESS", options->host, "Address to listen on (default: 127.0.0.1, this machine alone)");
  add_value(*command, "--port PORT", options->port, "TCP port; 0: any free one (default: 8080)");
  add_value(*command, "--token-file FILE", options->token_file,
            "Bearer tokens, one per line, of which requests must have one (default: $RELUCENT_TOKEN, or none)");
  add_value(*command, "--access-log FILE", options->access_log,
            "JSON lines; \"-\": standard output; \"\": none (default: -)");
  add_value(*command, "--otlp-endpoint URL", options->otlp_endpoint,
            "Collector that gets a span for each request, OTLP/HTTP as JSON, for example "
            "http://127.0.0.1:4318 (default: $OTEL_EXPORTER_OTLP_ENDPOINT, or none)");
  add_value(*command, "--reopen SECONDS", options->reopen,
            "Look for a new commit of the index so often, and search it; 0: only after SIGHUP (default: 0)")
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
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
