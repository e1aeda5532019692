#include "index_tools/program/ir_metadata.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "index_tools/program/flags.h"
#include "relucent/kernels/devices.h"
#include "relucent/threads.h"
#include "relucent/times.h"
#include "relucent/version.h"

namespace relucent::program {
namespace {

constexpr const char* kSchema = "0.2";

std::string quoted(const Metadata& scalar) {
  return scalar.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_nested(const Metadata& value) { return value.is_structured() && !value.empty(); }

void write_yaml(const Metadata& tree, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  if (tree.is_array()) {
    for (const Metadata& value : tree) {
      if (!is_nested(value)) {
        out += margin + "- " + quoted(value) + "\n";
        continue;
      }
      std::string inner;
      write_yaml(value, indent + 2, inner);
      inner.replace(indent, 2, "- ");
      out += inner;
    }
    return;
  }
  for (const auto& [key, value] : tree.items()) {
    if (is_nested(value)) {
      out += margin + key + ":\n";
      write_yaml(value, indent + 2, out);
    } else {
      out += margin + key + ": " + quoted(value) + "\n";
    }
  }
}

/// The value after "name" and `separator` in a file of such lines; empty if there is none.
std::string value_in(const char* file, std::string_view name, char separator) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t at = line.find(separator);
    if (at == line.npos || trim(std::string_view(line).substr(0, at)) != name) continue;
    std::string_view value = trim(std::string_view(line).substr(at + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return {};
}

Metadata text_or_null(std::string text) { return text.empty() ? Metadata() : Metadata(std::move(text)); }

std::int64_t kibibytes_in(const char* file, std::string_view name) {
  const std::string value = value_in(file, name, ':');
  return value.empty() ? 0 : std::atoll(value.c_str());
}

Metadata platform() {
  utsname names{};
  ::uname(&names);
  Metadata gpus = Metadata::array();
  for (const DeviceSummary& device : list_devices()) {
    if (device.usable() && device.name != "cpu") gpus.push_back(device.description);
  }
  const Metadata cpu{{"model", text_or_null(value_in("/proc/cpuinfo", "model name", ':'))},
                     {"architecture", names.machine},
                     {"operation mode", fmt::format("{}-bit", 8 * sizeof(void*))},
                     {"number of cores", available_cores()}};
  Metadata hardware{{"cpu", cpu}};
  if (!gpus.empty()) hardware["gpu"] = gpus;
  hardware["ram"] = fmt::format("{} MB", kibibytes_in("/proc/meminfo", "MemTotal") * 1024 / 1'000'000);
  return {{"hardware", hardware},
          {"operating system",
           {{"distribution", text_or_null(value_in("/etc/os-release", "PRETTY_NAME", '='))},
            {"kernel", fmt::format("{} {} {}", names.sysname, names.release, names.machine)}}},
          {"software", {{"relucent", version()}}}};
}

/// The words of this process's command.
Metadata command() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  Metadata words = Metadata::array();
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  return words;
}

std::string in_utc(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::int64_t milliseconds(const timeval& time) { return std::int64_t{time.tv_sec} * 1000 + time.tv_usec / 1000; }

std::string as_comments(const std::string& yaml) {
  std::string block = "# ir_metadata.start\n";
  for (std::size_t begin = 0; begin < yaml.size();) {
    const std::size_t end = std::min(yaml.find('\n', begin), yaml.size());
    block += "# " + yaml.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return block + "# ir_metadata.end\n";
}

}  // namespace

std::string to_yaml(const Metadata& tree) {
  std::string out;
  write_yaml(tree, 0, out);
  return out;
}

void add_metadata_flag(CLI::App& command, std::string& file) {
  add_value(command, "--metadata FILE", file,
            "Also write how the result came about, as ir_metadata: X.yml is YAML, another name the comments that "
            "are put in front of a run");
}

MetadataFile::MetadataFile(const std::string& file) : name_(file) {
  if (file.empty()) return;
  output_ = std::make_unique<index_tools::OutputFile>(file);
  energy_ = std::make_unique<EnergyMeter>();
  started_ = std::chrono::system_clock::now();
  start_ = std::chrono::steady_clock::now();
}

MetadataFile::~MetadataFile() = default;

void MetadataFile::write(const Metadata& known) {
  if (!wanted()) return;
  Metadata all{{"schema version", kSchema}};
  if (known.contains("tag")) all["tag"] = known.at("tag");
  all["platform"] = platform();
  all["research goal"] = known.value("research goal", Metadata());
  all["implementation"] = {{"executable", {{"cmd", command()}, {"version", version()}}},
                           {"source", {{"lang", {"c++"}}}}};
  all["method"] = known.value("method", Metadata());
  all["actor"] = nullptr;
  all["data"] = known.value("data", Metadata());
  all["resources"] = resources();
  const std::string yaml = to_yaml(all);
  output_->write(name_.ends_with(".yml") || name_.ends_with(".yaml") ? yaml : as_comments(yaml));
  output_->commit();
}

Metadata MetadataFile::resources() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto joules = energy_->joules();
  const auto energy_of = [&](const char* kind) {
    const auto found = joules.find(kind);
    return found == joules.end() ? Metadata() : Metadata(fmt::format("{:.3f} J", found->second));
  };
  const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(time_since(start_));
  return {
      {"cpu", {{"energy used system", energy_of("package")}}},
      {"ram",
       {{"energy used system", energy_of("dram")}, {"used process", {{"max", fmt::format("{} KB", used.ru_maxrss)}}}}},
      {"runtime",
       {{"start time", in_utc(started_)},
        {"stop time", in_utc(std::chrono::system_clock::now())},
        {"wallclock", fmt::format("{} ms", wall.count())},
        {"user", fmt::format("{} ms", milliseconds(used.ru_utime))},
        {"system", fmt::format("{} ms", milliseconds(used.ru_stime))}}}};
}

Metadata first_stage_metadata(const FirstStageConfig& config) {
  Metadata entries = Metadata::array();
  const std::string name(to_string(config.scoring));
  switch (config.scoring) {
    case FirstStageScoring::bm25:
      entries.push_back(
          {{"name", name}, {"method", "BM25 as Apache Lucene's BM25Similarity"}, {"k1", config.k1}, {"b", config.b}});
      break;
    case FirstStageScoring::qld:
      entries.push_back(
          {{"name", name}, {"method", "query likelihood as Apache Lucene's LMDirichletSimilarity"}, {"mu", config.mu}});
      break;
    case FirstStageScoring::qljm:
      entries.push_back({{"name", name},
                         {"method", "query likelihood as Apache Lucene's LMJelinekMercerSimilarity"},
                         {"lambda", config.lambda}});
      break;
  }
  if (!config.fields.empty()) entries.back()["fields"] = config.fields;
  if (config.rm3) {
    entries.push_back({{"name", "rm3"},
                       {"method", "query expansion as Anserini's Rm3Reranker"},
                       {"fb_terms", config.rm3_terms},
                       {"fb_docs", config.rm3_documents},
                       {"original_query_weight", config.rm3_original_weight},
                       {"reranks", name}});
  }
  return entries;
}

Metadata rescorer_metadata(const SecondStageConfig& config, const std::string& scorer, const std::string& reranks) {
  Metadata entry{{"name", "rescorer"}, {"method", scorer}, {"reranks", reranks}};
  const StageConfig last = config.effective_stages().back();
  entry["window"] = last.window;
  entry["score mode"] = std::string(to_string(last.score_mode));
  return entry;
}

}  // namespace relucent::program
