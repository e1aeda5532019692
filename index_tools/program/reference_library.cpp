#include "index_tools/program/reference_library.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file/file_io.h"
#include "base/text.h"
#include "index_tools/benchmarks/work_folder.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Standard input, output and error of the process.
struct Streams {
  fs::path input, output, messages;
};

/// The environment with settings that keep Hugging Face's libraries from opening a connection.
std::vector<std::string> offline_environment() {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) variables.emplace_back(*one);
  for (const char* one : {"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "TOKENIZERS_PARALLELISM=false"}) {
    const std::string_view name = std::string_view(one).substr(0, std::string_view(one).find('=') + 1);
    std::erase_if(variables, [&](const std::string& other) { return other.starts_with(name); });
    variables.emplace_back(one);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Runs a program to its end and returns its status as waitpid() does. Throws Error.
int run(std::vector<std::string> command, const Streams& streams, const std::stop_token& stop) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, streams.input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, streams.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, streams.messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  std::vector<std::string> environment = offline_environment();
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, command.front().c_str(), &actions, nullptr, pointers(command).data(),
                                     pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    throw Error(ErrorKind::io, command.front(), std::string("cannot be started: ") + std::strerror(failure),
                "install Python 3, or name an interpreter with --python");
  }
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) {
      throw Error(ErrorKind::io, command.front(), std::string("was lost: ") + std::strerror(errno));
    }
    if (stop.stop_requested()) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      throw Error(ErrorKind::interrupted, command.front(), "interrupted while the library scores the pairs");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// The last line that is not blank, which is Python's message.
std::string last_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line, last;
  while (std::getline(in, line)) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

json answer_of(const std::vector<std::string>& command, const Streams& streams, const std::stop_token& stop) {
  const int status = run(command, streams, stop);
  const std::string& python = command.front();
  if (WIFSIGNALED(status)) {
    throw Error(ErrorKind::invalid_data, python,
                fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))),
                "check that there is enough memory for the model in fp32");
  }
  if (WEXITSTATUS(status) != 0) {
    throw Error(ErrorKind::invalid_data, python,
                fmt::format("ended with status {}: {}", WEXITSTATUS(status), last_line(streams.messages)),
                "check that this library reads the checkpoint");
  }
  constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  json answer = json::parse(read_file(streams.output, kMostBytes), nullptr, false);
  if (!answer.is_object()) {
    throw Error(ErrorKind::invalid_data, python, "answered something other than an object in JSON",
                "name a Python interpreter with --python");
  }
  return answer;
}

void write_pairs(const fs::path& file, const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  std::ofstream out(file, std::ios::binary);
  for (const auto& [query, text] : pairs) {
    out << json{{"query", query}, {"text", text}}.dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
  }
  if (!out.flush()) throw Error(ErrorKind::io, file.string(), "cannot be written", "make room for temporary files");
}

const char* name_of(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::pairs: return "pairs";
    case ReferenceKind::embeddings: return "embeddings";
    case ReferenceKind::late_interaction: return "late-interaction";
  }
  return "";
}

}  // namespace

ReferenceScores score_with_library(const std::string& python, const std::string& library, const fs::path& folder,
                                   const std::vector<std::pair<std::string_view, std::string_view>>& pairs, int threads,
                                   ReferenceKind kind, const std::stop_token& stop) {
  const benchmarks::WorkFolder work;
  const Streams streams{work / "pairs.jsonl", work / "answer.json", work / "messages.txt"};
  const fs::path script = work / "reference.py";
  std::ofstream(script) << reference_script();
  write_pairs(streams.input, pairs);
  const json answer = answer_of(
      {python, script.string(), library, fs::absolute(folder).string(), std::to_string(threads), name_of(kind)},
      streams, stop);
  if (answer.contains("missing")) {
    throw Error(ErrorKind::unsupported, python, fmt::format("does not have the package {}", library),
                fmt::format("run `{} -m pip install {}`, or name another interpreter with --python", python, library));
  }
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::invalid_data, python, problem, "check that this library reads the checkpoint");
  };
  ReferenceScores result;
  const auto scores = answer.find("scores");
  if (scores == answer.end() || !scores->is_array() || scores->size() != pairs.size()) {
    refuse(fmt::format("did not answer {} scores", pairs.size()));
  }
  for (const json& score : *scores) {
    if (!score.is_number() || !std::isfinite(score.get<double>())) {
      refuse(fmt::format("answered for pair {} a score that is not a finite number", result.scores.size() + 1));
    }
    result.scores.push_back(score.get<double>());
  }
  if (const auto seconds = answer.find("seconds"); seconds != answer.end() && seconds->is_number()) {
    result.seconds = seconds->get<double>();
  }
  if (const auto versions = answer.find("versions"); versions != answer.end() && versions->is_object()) {
    for (const auto& [name, version] : versions->items()) {
      if (version.is_string()) result.versions[name] = version.get<std::string>();
    }
  }
  return result;
}

}  // namespace relucent::program
