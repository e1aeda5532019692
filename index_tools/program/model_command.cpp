#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/model_compare.h"
#include "index_tools/program/model_fetch.h"
#include "index_tools/program/pattern_drawing.h"
#include "index_tools/pytorch/convert_pytorch.h"
#include "model/families/pattern.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/kernels/devices.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"

namespace relucent::program {
namespace {

struct ModelOptions {
  std::string folder, from, to, device = "auto", precision = "auto", type, kind;
  int positions = 0, trained_rows = 0, threads = 0;
  std::string shown_pattern, drawing;  // of info
  std::int32_t codes = 64;
  std::optional<int> window;
  bool json = false, tensors = false, devices = false;
  MixEncoderInit mix;
  MirInit mir;
  ParadeInit parade;
  std::optional<std::int32_t> passage_window, passage_stride;  // of init
  std::vector<std::string> links;                              // of mir: "passage=none"
  std::string strategy = "S";
};

std::filesystem::path chosen_folder(const ModelOptions& options) { return model_folder(options.folder); }

std::string window_of(const Attention& attention) {
  for (const auto& views : attention.views) {
    for (const View& view : views) {
      if (view.kind == View::Kind::window) return std::to_string(view.window);
      if (view.kind == View::Kind::before) return "the tokens before";
    }
  }
  return "unlimited";
}

// Layers may have different windows, but rarely do.
std::string window_of(const CheckpointInfo& info) {
  std::vector<std::string> windows;
  for (const Layer& layer : info.description.stacks.front().layers) {
    windows.push_back(window_of(layer.attentions.front()));
  }
  const auto other = std::find_if(windows.begin(), windows.end(), [&](const auto& one) { return one != windows[0]; });
  return other == windows.end() ? windows.front() : join(windows);
}

bool is_mix_encoder(const CheckpointInfo& info) { return info.description.head.dot_with.has_value(); }
bool is_mir(const CheckpointInfo& info) { return info.max_document_tokens > 0; }
bool is_parade(const CheckpointInfo& info) { return info.max_passages > 0; }
/// How a MIR or PARADE pools the pivots of a document.
std::string pivot_pooling_of(const CheckpointInfo& info) {
  const PivotPooling& form = *info.description.head.pivots;
  switch (form.kind) {
    case PivotPooling::Kind::attention: return "attention";
    case PivotPooling::Kind::maximum: return "their maximum";
    case PivotPooling::Kind::layers: return fmt::format("a Transformer of {} layers", form.layers.size());
  }
  return "";
}
bool is_late_interaction(const CheckpointInfo& info) { return info.description.head.per_token; }

std::size_t layers_of(const CheckpointInfo& info) {
  std::size_t layers = 0;
  for (const Stack& stack : info.description.stacks) layers += stack.layers.size();
  return is_mix_encoder(info) ? info.description.stacks.front().layers.size() : layers;
}

/// The layers whose keys a MixEncoder's interaction reads.
std::vector<std::int32_t> interaction_of(const CheckpointInfo& info) {
  std::vector<std::int32_t> layers;
  for (const Layer& layer : info.description.stacks.back().layers) {
    layers.push_back(layer.attentions.front().keys_of_layer.value_or(0));
  }
  return layers;
}

/// "1 vector per candidate from special tokens, layers 11, mean pooling"
std::string describe_interaction(const CheckpointInfo& info) {
  const Derivation& derived = *info.description.groups[kContext].derived;
  return fmt::format("{} {} per candidate from {}, interaction in {} {}, {} pooling", derived.tokens,
                     derived.tokens == 1 ? "vector" : "vectors",
                     derived.kind == Derivation::Kind::codes ? "context codes" : "special tokens",
                     interaction_of(info).size() == 1 ? "layer" : "layers", join(interaction_of(info)),
                     info.description.head.pooling == Pooling::mean ? "mean" : "split") +
         (info.description.head.dot_layer ? ", the query's [CLS] in the gated token's place" : "") +
         (info.description.head.pools_inputs ? ", stored vectors in the score" : "");
}

std::int32_t heads_of(const CheckpointInfo& info) {
  return info.description.stacks.front().layers.front().attentions.front().heads;
}

/// The groups that groups of the first stack do not see: "query -> document".
std::vector<std::string> blind_spots(const CheckpointInfo& info) {
  // Query and candidate are encoded apart.
  if (is_mix_encoder(info) || is_late_interaction(info)) return {};
  const Stack& stack = info.description.stacks.front();
  const Views& views = stack.layers.front().attentions.front().views;
  std::vector<std::string> spots;
  for (const std::int32_t from : stack.groups) {
    for (const std::int32_t to : stack.groups) {
      const auto& row = views[static_cast<std::size_t>(from)];
      if (!row.empty() && row[static_cast<std::size_t>(to)].kind != View::Kind::none) continue;
      const auto& groups = info.description.groups;
      spots.push_back(groups[static_cast<std::size_t>(from)].name + " -> " + groups[static_cast<std::size_t>(to)].name);
    }
  }
  return spots;
}

/// How an embedding model pools.
const char* pooling_of(const CheckpointInfo& info) {
  return info.description.head.pooling == Pooling::first ? "cls" : "mean";
}

bool is_described(const CheckpointInfo& info) { return !info.description.stacks.empty(); }

nlohmann::ordered_json to_json(const CheckpointInfo& info) {
  nlohmann::ordered_json json = {{"folder", info.folder.string()}, {"model_type", info.model_type}};
  if (is_described(info)) {
    json.update({{"architecture", info.architecture},
                 {"layers", layers_of(info)},
                 {"hidden", info.description.hidden_size},
                 {"heads", heads_of(info)},
                 {"attention_window", window_of(info)},
                 {"no_attention", blind_spots(info)},
                 {"max_positions", info.max_positions},
                 {"vocabulary", info.description.vocabulary_size},
                 {"activation", info.activation},
                 {"activation_source", info.activation_source},
                 {"compared_tokens", info.compared}});
  }
  if (is_described(info) && is_mix_encoder(info)) {
    const Derivation& derived = *info.description.groups[kContext].derived;
    json["mixencoder"] = {{"strategy", derived.kind == Derivation::Kind::codes ? "context_codes" : "special_tokens"},
                          {"context", derived.tokens},
                          {"interaction_layers", interaction_of(info)},
                          {"pooling", info.description.head.pooling == Pooling::mean ? "mean" : "split"},
                          {"query_state", info.description.head.dot_layer ? "cls" : "gated"},
                          {"candidate_state", info.description.head.pools_inputs ? "stored" : "interacted"},
                          {"query_max_length", info.query_max_length},
                          {"candidate_max_length", info.candidate_max_length},
                          {"bytes_per_document", std::int64_t{4} * derived.tokens * info.description.hidden_size}};
  }
  if (is_described(info) && is_late_interaction(info)) {
    const bool per_text = info.description.head.per_text;
    nlohmann::ordered_json& of_vectors = json[per_text ? "embedding" : "late_interaction"];
    of_vectors = {{"vector_size", info.vector_size},
                  {"unit_vectors", info.unit_vectors},
                  {"query_max_length", info.query_max_length},
                  {"document_max_length", info.candidate_max_length}};
    if (per_text) {
      of_vectors["pooling"] = pooling_of(info);
      of_vectors["query_prompt"] = info.query_prompt;
      of_vectors["document_prompt"] = info.document_prompt;
    }
  }
  if (is_described(info) && is_mir(info)) {
    json["mir"] = {{"passage_window", info.passage_window},
                   {"passage_stride", info.passage_stride},
                   {"max_document_tokens", info.max_document_tokens},
                   {"max_query_tokens", info.max_query_tokens},
                   {"pooling", pivot_pooling_of(info)}};
  }
  if (is_described(info) && is_parade(info)) {
    json["parade"] = {{"passage_window", info.passage_window},
                      {"passage_stride", info.passage_stride},
                      {"max_passages", info.max_passages},
                      {"max_query_tokens", info.max_query_tokens},
                      {"pooling", pivot_pooling_of(info)}};
  }
  if (info.most_candidates > 0) json["most_candidates"] = info.most_candidates;
  if (!info.labels.empty()) json["labels"] = info.labels;
  json.update({{"tokenizer", info.tokenizer},
               {"tokenizer_entries", info.vocabulary},
               {"max_length", info.max_length},
               {"max_query_length", info.max_query_tokens},
               {"parameters", info.parameters},
               {"file_bytes", info.file_bytes},
               {"weight_type", info.weight_type},
               {"memory",
                {{"fp32", info.memory.fp32},
                 {"bf16", info.memory.bf16},
                 {"int8", info.memory.int8},
                 {"gpu_fp32", info.memory.gpu_fp32},
                 {"gpu_fp16", info.memory.gpu_fp16}}},
               {"ignored_keys", info.ignored_keys},
               {"warnings", info.warnings}});
  for (const TensorSummary& tensor : info.tensors) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"type", tensor.type},
                               {"shape", tensor.shape},
                               {"bytes", tensor.bytes},
                               {"used", tensor.used}});
  }
  return json;
}

std::string describe_score(const CheckpointInfo& info) {
  if (!info.labels.empty()) return "none: logits of the labels " + join(info.labels);
  if (is_mix_encoder(info)) return "dot product";
  if (is_late_interaction(info) && info.description.head.per_text) return info.unit_vectors ? "cosine" : "dot product";
  if (is_late_interaction(info)) return "MaxSim";
  if (is_mir(info) || is_parade(info)) return "logit";
  if (info.activation.empty() && info.compared.size() == 2) {
    return fmt::format("log-probability of \"{}\" against \"{}\"", info.compared[0], info.compared[1]);
  }
  if (info.activation.empty()) return "log-probability of the second output";
  const std::string as = info.activation == "identity" ? ", as sentence-transformers prints it"
                                                       : "; sentence-transformers prints its " + info.activation;
  const std::string logit = info.compared.size() == 2
                                ? fmt::format("logit of \"{}\" less that of \"{}\"", info.compared[0], info.compared[1])
                                : "logit";
  return fmt::format("{}{} ({})", logit, as, info.activation_source);
}

void print(const CheckpointInfo& info, bool tensors) {
  const auto line = [](const char* name) -> std::ostream& { return std::cout << std::left << std::setw(18) << name; };
  line("checkpoint") << info.folder.string() << "\n";
  if (is_described(info)) {
    line("architecture") << info.architecture << " (" << info.model_type << ")\n";
    line("size") << layers_of(info) << " layers, hidden " << info.description.hidden_size << ", " << heads_of(info)
                 << " heads, " << index_tools::with_commas(info.parameters) << " parameters\n";
    if (is_mix_encoder(info)) {
      line("candidates") << describe_interaction(info) << "\n";
      line("lengths") << "queries of at most " << info.query_max_length << " tokens, candidates of at most "
                      << info.candidate_max_length << "\n";
    } else if (is_late_interaction(info)) {
      line("attention window") << window_of(info) << "\n";
      const bool per_text = info.description.head.per_text;
      line("vectors") << info.vector_size << " numbers for each "
                      << (per_text ? fmt::format("text, {} pooling, ", pooling_of(info)) : "token, ")
                      << (info.unit_vectors ? "of length 1\n" : "as they are\n");
      if (!info.query_prompt.empty() || !info.document_prompt.empty()) {
        line("prompts") << fmt::format("\"{}\" before queries, \"{}\" before documents\n", info.query_prompt,
                                       info.document_prompt);
      }
      line("lengths") << "queries of at most " << info.query_max_length << " tokens, documents of at most "
                      << info.candidate_max_length << "\n";
    } else if (is_mir(info)) {
      line("documents") << fmt::format("passages of {} word pieces, every {}, of the first {} of a document\n",
                                       info.passage_window, info.passage_stride, info.max_document_tokens);
      line("pooling") << pivot_pooling_of(info) << "\n";
      line("queries") << "at most " << info.max_query_tokens << " word pieces\n";
    } else if (is_parade(info)) {
      line("documents") << fmt::format("passages of {} word pieces, every {}, at most {}\n", info.passage_window,
                                       info.passage_stride, info.max_passages);
      line("pooling") << pivot_pooling_of(info) << "\n";
      line("queries") << "at most " << info.max_query_tokens << " word pieces\n";
    } else {
      line("attention window") << window_of(info) << "\n";
    }
    if (info.most_candidates > 0) {
      line("candidates") << "see each other, at most " << info.most_candidates
                         << " of a query; missing ones are not sampled, unlike in Lightning IR\n";
    }
    if (const auto spots = blind_spots(info); !spots.empty()) line("no attention") << join(spots) << "\n";
  }
  if (!info.tokenizer.empty()) {
    if (info.candidate_max_length == 0 && !is_mir(info) && !is_parade(info)) {
      line("input") << "at most " << info.max_length << " tokens";
      if (info.max_positions > info.max_length) {
        std::cout << ", up to " << info.max_positions << " if max_length asks for them";
      }
      if (info.max_query_tokens > 0) {
        std::cout << "; at most " << info.max_query_tokens
                  << " word pieces of the query unless max_query_length is set";
      }
      std::cout << "\n";
    }
    line("tokenizer") << info.tokenizer << "\n";
    line("vocabulary") << info.description.vocabulary_size << " rows\n";
  }
  if (is_described(info)) line("score") << describe_score(info) << "\n";
  if (!info.weight_type.empty()) line("weights") << info.weight_type << ", " << format_bytes(info.file_bytes) << "\n";
  if (const WeightMemory& memory = info.memory; memory.fp32 > 0) {
    line("memory about") << "CPU: fp32 " << format_bytes(memory.fp32) << ", bf16 " << format_bytes(memory.bf16)
                         << ", int8 " << format_bytes(memory.int8) << "; GPU: fp32, tf32 "
                         << format_bytes(memory.gpu_fp32) << ", fp16, bf16 " << format_bytes(memory.gpu_fp16) << "\n";
  }
  if (!info.ignored_keys.empty()) line("ignored keys") << join(info.ignored_keys) << "\n";
  for (const std::string& warning : info.warnings) line("warning") << warning << "\n";
  if (!tensors) return;
  for (const TensorSummary& tensor : info.tensors) {
    std::cout << "  " << tensor.name << "  " << tensor.type << " [" << join(tensor.shape) << "]"
              << (tensor.used ? "" : "  (not used)") << "\n";
  }
}

nlohmann::ordered_json to_json(const CheckpointCheck& check) {
  nlohmann::ordered_json json = to_json(check.info);
  json["usable"] = check.problems.empty();
  json["problems"] = nlohmann::ordered_json::array();
  for (const Error& problem : check.problems) {
    json["problems"].push_back(
        {{"place", problem.place()}, {"problem", problem.problem()}, {"remedy", problem.remedy()}});
  }
  if (!check.problems.empty()) return json;
  const BackendInfo& used = check.backend;
  json["backend"] = {
      {"device", used.device},    {"precision", to_string(used.precision)}, {"instruction_set", used.instruction_set},
      {"threads", used.threads},  {"device_name", used.device_name},        {"why_no_gpu", used.why_no_gpu},
      {"products", used.products}};
  json["logits"] = check.logits;
  return json;
}

void print_problems(const CheckpointCheck& check) {
  constexpr std::size_t kMost = 50;
  const std::size_t all = check.problems.size();
  std::cout << std::flush;
  for (std::size_t i = 0; i < std::min(all, kMost); ++i) {
    std::cerr << "relucent: problem: " << check.problems[i].what() << "\n";
  }
  if (all > kMost) std::cerr << "relucent: and " << all - kMost << " more, which --json lists\n";
  if (!is_described(check.info)) {
    std::cerr << "relucent: tensors and tokenizer are compared only with a config.json that states their sizes\n";
  }
  std::cerr << "relucent: error: " << check.info.folder.string() << " cannot be used: " << all
            << (all == 1 ? " problem\n" : " problems\n");
}

void print(const CheckpointCheck& check) {
  print(check.info, false);
  if (!check.problems.empty()) return print_problems(check);
  std::cout << std::left << std::setw(18) << "runs on" << describe(check.backend) << "\n";
  if (!check.backend.why_no_gpu.empty()) std::cout << std::setw(18) << "no GPU" << check.backend.why_no_gpu << "\n";
  for (const std::string& product : check.backend.products) std::cout << std::setw(18) << "product" << product << "\n";
  std::cout << std::setw(18) << "trial logits";
  for (std::size_t i = 0; i < check.logits.size(); ++i) std::cout << (i == 0 ? "" : ", ") << check.logits[i];
  std::cout << "\nok\n";
}

void print_devices(const std::vector<DeviceSummary>& devices, bool json) {
  if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const DeviceSummary& device : devices) {
      all.push_back({{"name", device.name},
                     {"usable", device.usable()},
                     {"description", device.description},
                     {"problem", device.problem},
                     {"remedy", device.remedy}});
    }
    std::cout << all.dump(2) << "\n";
    return;
  }
  for (const DeviceSummary& device : devices) {
    std::cout << std::left << std::setw(8) << device.name << (device.usable() ? "  usable      " : "  not usable  ")
              << (device.description.empty() ? device.problem : device.description) << "\n";
    if (!device.problem.empty() && !device.description.empty())
      std::cout << std::setw(22) << "" << device.problem << "\n";
    if (!device.remedy.empty())
      std::cout << std::setw(22) << ""
                << "remedy: " << device.remedy << "\n";
  }
}

ExitCode print_pattern(const ModelOptions& options) {
  const std::filesystem::path folder = chosen_folder(options);
  EncoderDescription description = inspect_checkpoint(folder).description;
  if (options.shown_pattern != "checkpoint") {
    const JsonFile config = JsonFile::read(folder / "config.json");
    description = with_pattern(config, parse_pattern(options.shown_pattern), options.window).description;
  } else if (options.window) {
    set_window(description, *options.window < 0 ? View{View::Kind::all} : View{View::Kind::window, *options.window});
  }
  const std::vector<PatternDrawing> drawings = draw_pattern(description);
  if (options.drawing.empty()) {
    std::cout << pattern_text(drawings);
    return ok;
  }
  index_tools::OutputFile output(options.drawing);
  output.write(pattern_svg(drawings, folder.filename().string() + ": who sees whom"));
  output.commit();
  return ok;
}

void add_info(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command = model.add_subcommand("info", "Describe a checkpoint");
  CLI::Option* folder = command->add_option(
      "DIR", options->folder,
      "Checkpoint directory, or ORG/NAME in Hugging Face's cache (default: the bundled checkpoint)");
  CLI::Option* tensors = command->add_flag("--tensors", options->tensors, "List every tensor");
  command
      ->add_flag("--device", options->devices,
                 "List the devices of this machine, and why a model cannot run on the unusable ones")
      ->excludes(folder)
      ->excludes(tensors);
  command->add_flag("--json", options->json, "Print JSON, tensors included");
  CLI::Option* pattern =
      command
          ->add_option("--pattern", options->shown_pattern,
                       "Draw who sees whom: checkpoint, its own pattern, or full, local, longformer, qds, sparse")
          ->check(CLI::IsMember({"checkpoint", "full", "local", "longformer", "qds", "sparse"}));
  command->add_option("--attention-window", options->window, "Window of the drawn pattern; -1: unlimited")
      ->needs(pattern);
  command->add_option("--svg", options->drawing, "Write the drawing as a picture")->type_name("FILE")->needs(pattern);
  command->footer(
      "Example:\n  relucent model info my-checkpoint\n  relucent model info --device\n"
      "  relucent model info my-checkpoint --pattern sparse --attention-window 2 --svg sparse.svg");
  command->callback([&chosen, options] {
    chosen = [options] {
      if (options->devices) {
        print_devices(list_devices(), options->json);
        return ok;
      }
      if (!options->shown_pattern.empty()) return print_pattern(*options);
      const CheckpointInfo info = inspect_checkpoint(chosen_folder(*options));
      if (options->json) {
        std::cout << to_json(info).dump(2) << "\n";
      } else {
        print(info, options->tensors);
      }
      return ok;
    };
  });
}

void add_check(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command =
      model.add_subcommand("check", "List every problem of a checkpoint: read all of it and run it on trial inputs");
  command->add_option("DIR", options->folder,
                      "Checkpoint directory, or ORG/NAME in Hugging Face's cache (default: the bundled checkpoint)");
  command->add_option("--device", options->device, "auto | ref | cpu | cuda:N | cuda")->capture_default_str();
  command->add_option("--precision", options->precision, "auto | fp32 | tf32 | bf16 | fp16 | int8")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "0: every core")->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Exits with 0 only if the checkpoint can be used.\n\nExample:\n  relucent model check my-checkpoint --device "
      "cpu");
  command->callback([&chosen, options] {
    chosen = [options] {
      BackendOptions backend;
      backend.device = parse_device(options->device);
      backend.precision = parse_precision(options->precision);
      backend.threads = options->threads;
      const CheckpointCheck check = check_checkpoint(chosen_folder(*options), backend);
      if (options->json) {
        std::cout << to_json(check).dump(2) << "\n";
      } else {
        print(check);
      }
      return check.problems.empty() ? ok : exit_code(check.problems.front().kind());
    };
  });
}

void add_extend(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command =
      model.add_subcommand("extend", "Copy a checkpoint and lengthen its position table by interpolation");
  command->add_option("FROM", options->from, "Checkpoint directory, or ORG/NAME in Hugging Face's cache")->required();
  command->add_option("TO", options->to, "New directory")->required();
  command->add_option("--positions", options->positions, "Rows of the new table")
      ->required()
      ->check(CLI::PositiveNumber);
  command->add_option("--trained-rows", options->trained_rows, "Interpolate over the first N rows only; 0: all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->footer(
      "Such a checkpoint must be trained further before it ranks well.\n\nExample:\n"
      "  relucent model extend minilm minilm-4096 --positions 4096 --trained-rows 381");
  command->callback([&chosen, options] {
    chosen = [options] {
      extend_positions(options->from, options->to, options->positions, options->trained_rows);
      std::cout << "Wrote " << options->to << " with " << options->positions << " positions\n";
      return ok;
    };
  });
}

/// Weights of PyTorch become safetensors first, with their own types.
void convert(const std::filesystem::path& from, const std::filesystem::path& to, std::optional<DataType> type) {
  if (!index_tools::has_pytorch_weights(from)) return convert_checkpoint(from, to, type);
  if (!type) return index_tools::convert_pytorch(from, to);
  if (std::filesystem::exists(to)) throw Error(ErrorKind::usage, to.string(), "exists", "name a new directory");
  const std::filesystem::path same = to.native() + ".as-saved";
  index_tools::convert_pytorch(from, same);
  const auto remove = [](const std::filesystem::path* path) {
    std::error_code ignored;
    std::filesystem::remove_all(*path, ignored);
  };
  const std::unique_ptr<const std::filesystem::path, decltype(remove)> removed(&same, remove);
  convert_checkpoint(same, to, type);
}

void add_convert(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command = model.add_subcommand(
      "convert", "Copy a checkpoint into one model.safetensors, from PyTorch's format or in another data type");
  command->add_option("FROM", options->from, "Checkpoint directory, or ORG/NAME in Hugging Face's cache")->required();
  command->add_option("TO", options->to, "New directory")->required();
  command->add_option("--type", options->type, "f32 | f16 | bf16 (default: as they are)");
  command->footer(
      "Examples:\n  relucent model convert my-checkpoint my-checkpoint-f16 --type f16\n"
      "  relucent model convert my-sharded-checkpoint my-checkpoint\n"
      "  relucent model convert monobert-large-msmarco monobert   # pytorch_model.bin, read without PyTorch");
  command->callback([&chosen, options] {
    chosen = [options] {
      std::optional<DataType> type;
      if (!options->type.empty()) type = parse_data_type(options->type);
      convert(model_folder(options->from), options->to, type);
      std::cout << "Wrote " << options->to << (type ? " as " + options->type : "") << "\n";
      return ok;
    };
  });
}

std::vector<CLI::Option*> add_mix_options(CLI::App& command, ModelOptions& options) {
  MixEncoderInit& mix = options.mix;
  return {
      command
          .add_option("--strategy", options.strategy,
                      "Where a candidate's vectors come from: S, special tokens before its words; C, learnt codes")
          ->capture_default_str()
          ->check(CLI::IsMember({"S", "C"})),
      command.add_option("--vectors", mix.context, "Vectors per candidate, 1 to 16")->capture_default_str(),
      command
          .add_option(
              "--layers", mix.interaction_layers,
              "Layers of the encoder, from 0, at which candidates see the query: \"9,10,11\" (default: the last)")
          ->delimiter(',')
          ->allow_extra_args(false),
      command.add_option("--pooling", mix.pooling, "mean | split (the last vector apart from the others)")
          ->capture_default_str()
          ->check(CLI::IsMember({"mean", "split"})),
      command
          .add_option("--query-state", mix.query_state,
                      "What of the query the score takes: gated, or cls, its [CLS] (the paper's ablation without H)")
          ->capture_default_str()
          ->check(CLI::IsMember({"gated", "cls"})),
      command
          .add_option("--candidate-state", mix.candidate_state,
                      "What of the candidate: interacted, or stored, its vectors as they are (without E)")
          ->capture_default_str()
          ->check(CLI::IsMember({"interacted", "stored"})),
      command
          .add_option("--labels", mix.labels,
                      "Names of labels, for a classifier of pairs: \"entailment,neutral,contradiction\"")
          ->delimiter(',')
          ->allow_extra_args(false)};
}

std::vector<CLI::Option*> add_mir_options(CLI::App& command, ModelOptions& options) {
  MirInit& mir = options.mir;
  return {
      command.add_option("--document-length", mir.max_document_tokens, "Word pieces of a document")
          ->capture_default_str(),
      command.add_option("--views", mir.views, "Views of a document that exchange pivots (the paper's ablations)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str(),
      command
          .add_option("--links", options.links,
                      "What pivots see of each other: \"passage=none,token=all\" (default: what their graphs link)")
          ->delimiter(',')
          ->allow_extra_args(false),
      command.add_option("--exchanges", mir.exchanges, "Layers after which pivots are exchanged: every | last")
          ->capture_default_str()
          ->check(CLI::IsMember({"every", "last"})),
      command
          .add_option("--view-pooling", mir.pooling, "How a view's pivots are pooled: attention | max | transformer")
          ->capture_default_str()
          ->check(CLI::IsMember({"attention", "max", "transformer"})),
      command.add_flag("--share-layers", mir.shared_layers, "Pivots pass through the layers of the tokens"),
      command.add_option("--passage-token", mir.passage_token,
                         "Id of the token in front of passages, an unused entry of the vocabulary (default: that "
                         "of [unused0])"),
      command.add_option("--sentence-token", mir.sentence_token,
                         "Id of the token in front of sentences (default: that of [unused1])")};
}

std::vector<CLI::Option*> add_parade_options(CLI::App& command, ModelOptions& options) {
  ParadeInit& parade = options.parade;
  return {command.add_option("--max-passages", parade.max_passages, "Passages of a document")->capture_default_str(),
          command.add_option("--aggregation", parade.aggregation, "How passages are pooled: transformer | max")
              ->capture_default_str()
              ->check(CLI::IsMember({"transformer", "max"}))};
}

/// Refuses the options of another kind of checkpoint.
void refuse_given(const std::vector<CLI::Option*>& options, const char* kind) {
  for (const CLI::Option* option : options) {
    if (option->count() == 0) continue;
    throw Error(ErrorKind::usage, option->get_name(), fmt::format("applies to --as {} only", kind),
                "remove the option, or choose the other kind");
  }
}

void add_init(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command = model.add_subcommand("init", "Make a checkpoint as its training starts, from a BERT");
  command->add_option("TO", options->to, "New directory")->required();
  command->add_option("--from", options->from, "Directory of a BERT (model_type bert), with any head or none")
      ->required();
  command->add_option("--as", options->kind, "mixencoder | mir | parade | polyencoder")
      ->required()
      ->check(CLI::IsMember({"mixencoder", "mir", "parade", "polyencoder"}));
  const std::vector<CLI::Option*> of_mix = add_mix_options(*command, *options);
  const std::vector<CLI::Option*> of_mir = add_mir_options(*command, *options);
  const std::vector<CLI::Option*> of_parade = add_parade_options(*command, *options);
  const std::vector<CLI::Option*> of_passages = {
      command->add_option("--window", options->passage_window, "Word pieces of a passage (default: 128, parade 225)"),
      command->add_option("--stride", options->passage_stride,
                          "Word pieces from the start of a passage to that of the next (default: 96, parade 200)")};
  MixEncoderInit& mix = options->mix;
  const std::vector<CLI::Option*> of_lengths = {
      command->add_option("--query-length", mix.query_max_length, "Tokens of a query, with [CLS] and [SEP]")
          ->capture_default_str(),
      command->add_option("--candidate-length", mix.candidate_max_length, "Tokens of a candidate, with [CLS] and [SEP]")
          ->capture_default_str()};
  const std::vector<CLI::Option*> of_poly = {
      command->add_option("--codes", options->codes, "Vectors of a query, for polyencoder")->capture_default_str()};
  command->add_option("--seed", options->mix.seed, "Seed of the random values")->capture_default_str();
  command->footer(
      "The new weights are copies of the BERT's layers and random values: until the checkpoint is trained, it ranks "
      "at\n"
      "random.\n\nExamples:\n  relucent model init --from bert-base-uncased --as mixencoder --layers 9,10,11 "
      "my-mixencoder\n  relucent model init --from bert-base-uncased --as mir my-mir\n"
      "  relucent model init --from bert-base-uncased --as parade --aggregation max my-parade\n"
      "  relucent model init --from bert-base-uncased --as polyencoder --codes 360 my-poly");
  command->callback([&chosen, options, of_mix, of_mir, of_parade, of_passages, of_lengths, of_poly] {
    chosen = [options, of_mix, of_mir, of_parade, of_passages, of_lengths, of_poly] {
      if (options->kind != "parade") refuse_given(of_parade, "parade");
      if (options->kind != "parade" && options->kind != "mir") refuse_given(of_passages, "mir and parade");
      if (options->kind == "parade") {
        refuse_given(of_mix, "mixencoder");
        refuse_given(of_mir, "mir");
        refuse_given(of_lengths, "mixencoder and polyencoder");
        refuse_given(of_poly, "polyencoder");
        options->parade.seed = options->mix.seed;
        options->parade.window = options->passage_window.value_or(options->parade.window);
        options->parade.stride = options->passage_stride.value_or(options->parade.stride);
        init_parade(options->from, options->to, options->parade);
        std::cout << "Wrote " << options->to << ", an untrained PARADE: it ranks at random until it is trained\n";
        return ok;
      }
      if (options->kind == "mir") {
        options->mir.window = options->passage_window.value_or(options->mir.window);
        options->mir.stride = options->passage_stride.value_or(options->mir.stride);
        refuse_given(of_mix, "mixencoder");
        refuse_given(of_lengths, "mixencoder and polyencoder");
        refuse_given(of_poly, "polyencoder");
        options->mir.seed = options->mix.seed;
        for (const std::string& link : options->links) {
          const std::size_t equals = std::min(link.find('='), link.size());
          options->mir.links[link.substr(0, equals)] = link.substr(std::min(equals + 1, link.size()));
        }
        init_mir(options->from, options->to, options->mir);
        std::cout << "Wrote " << options->to << ", an untrained MIR: it ranks at random until it is trained\n";
        return ok;
      }
      if (options->kind == "polyencoder") {
        refuse_given(of_mix, "mixencoder");
        refuse_given(of_mir, "mir");
        const MixEncoderInit& of = options->mix;
        init_poly_encoder(options->from, options->to,
                          {options->codes, of.query_max_length, of.candidate_max_length, of.seed});
        std::cout << "Wrote " << options->to << ", an untrained Poly-Encoder: it ranks at random until it is trained\n";
        return ok;
      }
      refuse_given(of_mir, "mir");
      refuse_given(of_poly, "polyencoder");
      options->mix.strategy = options->strategy == "S" ? "special_tokens" : "context_codes";
      init_mix_encoder(options->from, options->to, options->mix);
      std::cout << "Wrote " << options->to << ", an untrained MixEncoder: it ranks at random until it is trained\n";
      return ok;
    };
  });
}

}  // namespace

void add_model(CLI::App& program, Action& chosen) {
  CLI::App* command =
      program.add_subcommand("model", "Inspect, check, compare, fetch, extend, convert or initialize a checkpoint");
  command->require_subcommand(1);
  command->footer("Example:\n  relucent model check");
  auto options = std::make_shared<ModelOptions>();
  add_info(*command, chosen, options);
  add_check(*command, chosen, options);
  add_model_fetch(*command, chosen);
  add_model_compare(*command, chosen);
  add_extend(*command, chosen, options);
  add_convert(*command, chosen, options);
  add_init(*command, chosen, options);
}

}  // namespace relucent::program
