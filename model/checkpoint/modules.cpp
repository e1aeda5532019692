#include "model/checkpoint/modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "base/file/file_io.h"
#include "base/json_tree.h"
#include "base/nesting.h"
#include "base/text.h"
#include "model/checkpoint/weight_files.h"
#include "model/families/pattern.h"
#include "model/families/tensor_reader.h"
#include "model/formats/json_file.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStates = "sentence_embedding", kScores = "scores";
/// LayerNorm's class of sentence-transformers has no setting for it.
constexpr float kEpsilon = 1e-5F;
constexpr std::size_t kMostModules = 16;

constexpr const char* kRemedy =
    "use a checkpoint with Pooling (cls or mean), any Dense and LayerNorm, and a Dense with the score or Normalize";

[[noreturn]] void refuse(const JsonFile& file, std::string_view key, const std::string& problem) {
  file.unsupported(key, problem, kRemedy);
}

void check_size(const JsonFile& file, std::string_view key, std::int64_t wanted) {
  const std::int64_t size = file.required_integer(key, 1, 1 << 20);
  if (size != wanted) {
    file.fail(key, fmt::format("is {}, but the modules before give {} features", size, wanted),
              "download the model again");
  }
}

Activation activation_of(const JsonFile& file) {
  constexpr std::string_view key = "activation_function";
  const std::string name = file.string(key).value_or("torch.nn.modules.activation.Tanh");
  constexpr std::array<std::pair<std::string_view, Activation>, 5> kKnown{
      {{"torch.nn.modules.linear.Identity", Activation::none},
       {"torch.nn.modules.activation.GELU", Activation::gelu_erf},
       {"torch.nn.modules.activation.Tanh", Activation::tanh},
       {"torch.nn.modules.activation.ReLU", Activation::relu},
       {"torch.nn.modules.activation.SiLU", Activation::silu}}};
  const auto found = std::ranges::find(kKnown, name, [](const auto& known) { return known.first; });
  if (found == kKnown.end()) refuse(file, key, "unknown activation " + name);
  return found->second;
}

/// Whether the pooling is [CLS]; otherwise it is the mean.
bool pools_cls(const JsonFile& file, std::int32_t hidden) {
  // Older versions have a flag per kind of pooling; without any the pooling is the mean.
  constexpr std::array<std::string_view, 2> kSizes{"embedding_dimension", "word_embedding_dimension"};
  file.require_known(
      {kSizes[0], kSizes[1], "pooling_mode", "pooling_mode_cls_token", "pooling_mode_mean_tokens", "include_prompt"},
      kRemedy);
  check_size(file, file.find(kSizes[0]) != nullptr ? kSizes[0] : kSizes[1], hidden);
  if (!file.boolean("include_prompt").value_or(true)) refuse(file, "include_prompt", "is false");
  const bool cls = file.boolean("pooling_mode_cls_token").value_or(false);
  const bool mean = file.boolean("pooling_mode_mean_tokens").value_or(false);
  if (cls && mean) refuse(file, "pooling_mode_cls_token", "several kinds of pooling");
  const std::string mode = file.string("pooling_mode").value_or(cls ? "cls" : "mean");
  if (mode != "cls" && mode != "mean") refuse(file, "pooling_mode", "unknown pooling " + mode);
  return mode == "cls";
}

/// Returns whether its linear layer has a bias.
bool check_dense(const JsonFile& file, std::int64_t inputs) {
  file.require_known({"in_features", "out_features", "bias", "activation_function", "module_input_name",
                      "module_output_name", "use_residual"},
                     kRemedy);
  check_size(file, "in_features", inputs);
  if (const auto name = file.string("module_input_name"); name && *name != kStates) {
    refuse(file, "module_input_name", fmt::format("is not {}", kStates));
  }
  return file.boolean("bias").value_or(true);
}

std::string_view output_of(const JsonFile& dense) {
  const auto name = dense.string("module_output_name");
  return name && *name == kScores ? kScores : kStates;
}

/// The modules, of whatever types.
std::vector<Module> list_modules(const fs::path& path) {
  // It is a list, which JsonFile does not read.
  constexpr std::size_t kMaxBytes = 1 << 16;
  const std::string bytes = read_file(path, kMaxBytes);
  JsonTree tree;
  if (!too_deep_in_json(bytes)) tree.read(bytes);
  const nlohmann::json& list = *tree;
  const auto fail = [&](const std::string& problem) {
    throw Error(ErrorKind::invalid_data, path.string(), problem, "download the file again");
  };
  if (!list.is_array() || list.empty()) fail("is not a list of modules in JSON");
  std::vector<Module> modules;
  for (const nlohmann::json& entry : list) {
    const auto text = [&](const char* key) {
      const bool stated = entry.is_object() && entry.contains(key) && entry[key].is_string();
      if (!stated) fail(fmt::format("lists a module without {}", key));
      return entry[key].get<std::string>();
    };
    const std::string type = text("type"), folder = text("path");
    const bool first = modules.empty();
    if (!type.starts_with("sentence_transformers.") && !type.starts_with("pylate.")) {
      throw Error(ErrorKind::unsupported, path.string(),
                  fmt::format("names the module {}, which is not supported", type),
                  "use a checkpoint with sentence-transformers' own modules");
    }
    const bool own = folder.empty();
    const bool inside = !own && folder != "." && folder != ".." && folder.find_first_of("/\\") == std::string::npos &&
                        folder.find('\0') == std::string::npos;
    if (first ? !own : !inside) fail(fmt::format("has the module {} in \"{}\"", type, folder));
    modules.push_back({type.substr(type.rfind('.') + 1), own ? path.parent_path() : path.parent_path() / folder});
  }
  return modules;
}

[[noreturn]] void refuse_modules(const fs::path& path, const std::vector<Module>& modules, const std::string& remedy) {
  throw Error(ErrorKind::unsupported, path.string(),
              "lists the modules " + join(modules, ", ", [](const Module& module) { return module.type; }), remedy);
}

/// Adds what a Dense or LayerNorm on `features` does, which it updates.
void add_module(const Module& module, const JsonFile& config, std::int64_t& features, ModularHead& head) {
  const auto add_step = [&](const HeadStep& step) {
    head.form.steps.push_back(step);
    head.steps.emplace_back();
  };
  if (module.type == "LayerNorm") {
    config.require_known({"dimension"}, kRemedy);
    check_size(config, "dimension", features);
    if (head.steps.empty() || head.form.steps.back().norm) add_step({});
    head.form.steps.back().norm = true;
    head.form.steps.back().norm_epsilon = kEpsilon;
    head.steps.back().norm = module.folder;
    return;
  }
  if (output_of(config) != kStates) refuse(config, "module_output_name", "is scores before the last module");
  const bool bias = check_dense(config, features);
  const std::int64_t size = config.required_integer("out_features", 1, 1 << 16);
  HeadStep step{.size = static_cast<std::int32_t>(size), .activation = activation_of(config)};
  if (config.boolean("use_residual").value_or(false)) {
    step.residual = size == features ? HeadStep::Residual::input : HeadStep::Residual::projected;
  }
  add_step(step);
  head.steps.back().dense = module.folder;
  head.steps.back().bias = bias;
  features = size;
}

}  // namespace

std::vector<Module> read_modules(const fs::path& path) {
  std::vector<Module> modules = list_modules(path);
  const auto is = [&](std::size_t i, std::string_view type) { return modules[i].type == type; };
  bool known = is(0, "Transformer") && modules.size() != 2 && modules.size() <= kMostModules;
  for (std::size_t i = 1; known && i < modules.size(); ++i) {
    const bool last = i + 1 == modules.size();
    known = i == 1 ? is(i, "Pooling") : is(i, "Dense") || (is(i, "LayerNorm") && !last);
  }
  if (!known) {
    refuse_modules(path, modules,
                   fmt::format("use a checkpoint with Transformer, Pooling, any Dense and LayerNorm, and Dense: {} at "
                               "most",
                               kMostModules));
  }
  return modules;
}

std::optional<LogitScore> read_logit_score(const fs::path& folder) {
  const fs::path path = folder / "modules.json";
  if (!fs::exists(path)) return std::nullopt;
  const std::vector<Module> modules = list_modules(path);
  const bool scores = modules.size() == 2 && modules[1].type == "LogitScore";
  if (modules.size() > 2 || modules[0].type != "Transformer" || (modules.size() == 2 && !scores)) {
    refuse_modules(path, modules, "use a checkpoint with Transformer and LogitScore");
  }
  if (!scores) return std::nullopt;
  const JsonFile config = JsonFile::read(modules[1].folder / "config.json");
  config.require_known({"true_token_id", "false_token_id", "module_input_name"}, "use another checkpoint");
  constexpr std::int64_t kMostTokens = 1 << 24;
  return LogitScore{config.path(), config.required_integer("true_token_id", 0, kMostTokens),
                    config.integer("false_token_id", 0, kMostTokens)};
}

ModularHead read_modular_head(const std::vector<Module>& modules, std::int32_t hidden) {
  ModularHead head;
  std::int64_t features = hidden;
  for (std::size_t i = 1; i < modules.size(); ++i) {
    const JsonFile config = JsonFile::read(modules[i].folder / "config.json");
    if (modules[i].type == "Pooling") {
      head.form.groups = std::vector<std::int32_t>{kCls};
      if (!pools_cls(config, hidden)) head.form.groups = {kCls, kQuery, kDocument};
    } else if (i + 1 < modules.size()) {
      add_module(modules[i], config, features, head);
    } else {
      if (output_of(config) != kScores) refuse(config, "module_output_name", "of the last module is not scores");
      if (activation_of(config) != Activation::none) {
        refuse(config, "activation_function", "of the last module is not the identity");
      }
      head.output_bias = check_dense(config, features);
      if (config.boolean("use_residual").value_or(false)) refuse(config, "use_residual", "of the last module is true");
      if (config.required_integer("out_features", 1, 1 << 16) != 1) refuse(config, "out_features", "is not 1");
      head.output = modules[i].folder;
    }
  }
  return head;
}

EmbeddingModules read_embedding_modules(const fs::path& folder, std::int32_t hidden) {
  const fs::path path = folder / "modules.json";
  const std::vector<Module> modules = list_modules(path);
  EmbeddingModules result;
  std::int64_t features = hidden;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string& type = modules[i].type;
    const bool last = i + 1 == modules.size(), inner = type == "Dense" || type == "LayerNorm";
    const bool known = i == 0   ? type == "Transformer" && !last && modules.size() <= kMostModules
                       : i == 1 ? type == "Pooling"
                                : inner || (last && type == "Normalize");
    if (!known) refuse_modules(path, modules, "use a checkpoint with Transformer, Pooling, any Dense and Normalize");
    if (type == "Normalize") result.normalizes = true;
    if (i == 0 || type == "Normalize") continue;  // which has no settings
    const JsonFile config = JsonFile::read(modules[i].folder / "config.json");
    if (i == 1) {
      result.pooling = pools_cls(config, hidden) ? Pooling::first : Pooling::mean;
    } else {
      add_module(modules[i], config, features, result.after);
    }
  }
  return result;
}

ModularHead read_token_projection(const fs::path& folder, std::int32_t hidden) {
  const fs::path path = folder / "modules.json";
  const std::vector<Module> modules = list_modules(path);
  if (modules.size() != 2 || modules[0].type != "Transformer" || modules[1].type != "Dense") {
    throw Error(ErrorKind::unsupported, path.string(), "is not a Transformer with one Dense",
                "use a ColBERT with one projection");
  }
  const JsonFile config = JsonFile::read(modules[1].folder / "config.json");
  ModularHead head;
  const bool bias = check_dense(config, hidden);
  if (activation_of(config) != Activation::none) refuse(config, "activation_function", "is not the identity");
  if (config.boolean("use_residual").value_or(false)) refuse(config, "use_residual", "is true");
  head.form.steps = {{.size = static_cast<std::int32_t>(config.required_integer("out_features", 1, 1 << 12))}};
  head.steps = {{.dense = modules[1].folder, .norm = {}, .bias = bias}};
  return head;
}

bool read_modular_weights(const ModularHead& head, std::int32_t hidden, FaultList& faults, EncoderWeights& weights) {
  std::vector<std::shared_ptr<const void>> kept = {weights.storage};
  bool whole = true;
  const auto read = [&](const fs::path& folder, const auto& take) {
    if (folder.empty()) return;
    const bool opened = faults.attempt([&] {
      const SafetensorsFile file = open_weights(folder, "");
      TensorReader reader(file, &faults);
      take(reader);
      whole = whole && !reader.failed();
      kept.push_back(file.storage());
    });
    whole = whole && opened;
  };
  std::int64_t features = hidden;
  for (std::size_t i = 0; i < head.steps.size(); ++i) {
    const HeadStep& form = head.form.steps[i];
    const ModularHead::Step& step = head.steps[i];
    const std::int64_t size = form.size > 0 ? form.size : features;
    HeadStepWeights& to = weights.head_steps.emplace_back();
    read(step.dense, [&](TensorReader& reader) {
      to.dense = reader.linear("linear", size, features, step.bias);
      if (form.residual == HeadStep::Residual::projected)
        to.residual = reader.linear("residual", size, features, false);
    });
    read(step.norm, [&](TensorReader& reader) { to.norm = reader.norm("norm", size); });
    features = size;
  }
  read(head.output,
       [&](TensorReader& reader) { weights.head_output = reader.linear("linear", 1, features, head.output_bias); });
  weights.storage = std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(kept));
  return whole;
}

}  // namespace relucent
