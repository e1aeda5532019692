#include "index_tools/experiments/content_hash.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/checksum.h"
#include "base/file/file_io.h"
#include "base/file/own_file.h"
#include "base/text.h"
#include "kernels/cuda_module.h"
#include "plugin/index_format/segments_file.h"
#include "relucent/error.h"
#include "relucent/kernels/devices.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/version.h"

namespace relucent::index_tools {
namespace {

// With its size in front, so that no two sequences of parts have the same bytes.
void add(Checksum& sum, std::string_view part) {
  sum.add(fmt::format("{}:", part.size()));
  sum.add(part);
}

// The CUDA module's hash; empty if there is none.
std::string hash_of_cuda_module() {
  Dl_info info{};
  try {
    if (::dladdr(&cuda::module(), &info) == 0 || info.dli_fname == nullptr) return "";
  } catch (const Error&) {  // no module, or it cannot be loaded
    return "";
  }
  return to_hex(checksum_of_file(info.dli_fname));
}

// "cpu amx", "cuda:0 NVIDIA H200", without what changes from day to day, such as free memory.
std::string devices_here(const Device& wanted) {
  static const std::vector<DeviceSummary> all = list_devices();
  const bool cpu_only = wanted == Device::cpu() || to_string(wanted) == "ref";
  std::vector<std::string> usable;
  for (const DeviceSummary& device : all) {
    if (!device.usable() || (cpu_only && device.name != "cpu")) continue;
    usable.push_back(device.name + " " + device.description.substr(0, device.description.find(',')));
  }
  if (!cpu_only) {
    static const std::string module = hash_of_cuda_module();
    if (!module.empty()) usable.push_back("module " + module);
  }
  return join(usable, "; ");
}

// The keys of [rescorer] without their comments.
std::string settings_text(const SecondStageConfig& rescorer) {
  Config shown;
  shown.rescorer = rescorer;
  shown.rescorer.model.clear();
  shown.rescorer.threads = 0;
  shown.rescorer.timeout = {};
  const std::string toml = to_toml(shown);
  std::string text, section;
  for (std::size_t begin = 0; begin < toml.size();) {
    const std::size_t end = std::min(toml.find('\n', begin), toml.size());
    const std::string_view line = std::string_view(toml).substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with('[')) section = line;
    if (section == "[rescorer]" && !line.empty() && !line.starts_with('#')) text += std::string(line) + "\n";
  }
  return text;
}

std::string module_hash(const ScorerConfig& stage) {
  if (stage.module == ScorerConfig().module) return "";  // the built-in scorer
  return fmt::format("module {}\n", to_hex(checksum_of_file(stage.module)));
}

}  // namespace

std::uint64_t hash_of_model(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  // The head of a modular cross-encoder is in folders of its own.
  constexpr int kDeepest = 1;
  for (std::filesystem::recursive_directory_iterator file(folder, problem), end; !problem && file != end;
       file.increment(problem)) {
    const std::string name = file->path().filename().string();
    if (file.depth() == kDeepest || name.starts_with('.')) file.disable_recursion_pending();
    if (name.starts_with('.') || name.ends_with(".md")) continue;
    if (is_regular_file(status_of(*file))) files.push_back(*file);
  }
  if (problem) throw Error(ErrorKind::io, folder.string(), "cannot be read: " + problem.message(), "check the model");
  if (files.empty()) throw Error(ErrorKind::io, folder.string(), "contains no files", "name a checkpoint's folder");
  std::sort(files.begin(), files.end());
  Checksum sum;
  for (const std::filesystem::path& file : files) {
    add(sum, file.lexically_relative(folder).string());
    add(sum, to_hex(checksum_of_file(file)));
  }
  return sum.value();
}

std::uint64_t hash_of_index(const std::filesystem::path& folder) {
  const std::vector<std::string> commits = segments_files(folder);
  if (commits.empty())
    throw Error(ErrorKind::io, folder.string(), "is not an index", "name a folder that `relucent index` made");
  return checksum_of_file(folder / commits.front());
}

std::uint64_t hash_of_topic(const RerankQuery& query) {
  Checksum sum;
  add(sum, query.text);
  for (const RerankCandidate& candidate : query.candidates) {
    add(sum, candidate.docno);
    add(sum, candidate.text);
    sum.add(to_hex(std::bit_cast<std::uint64_t>(candidate.score)));
  }
  return sum.value();
}

std::uint64_t hash_of_program() {
  static const std::uint64_t sum = checksum_of_file(own_file());
  return sum;
}

std::string description_of_scoring(const SecondStageConfig& config) {
  std::string text = fmt::format("relucent {}\ncode {}\n", version(), to_hex(hash_of_program()));
  SecondStageConfig alone = config;
  alone.stages.clear();
  for (const StageConfig& stage : config.effective_stages()) {
    static_cast<StageConfig&>(alone) = stage;
    const std::filesystem::path folder = model_folder(stage.model);
    text += fmt::format("model {}\ndevices {}\n{}{}", to_hex(hash_of_model(folder)), devices_here(stage.device),
                        module_hash(stage), settings_text(alone));
  }
  return text;
}

}  // namespace relucent::index_tools
