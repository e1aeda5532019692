#include "index_tools/program/checkpoint_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "index_tools/indexing/progress.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

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

bool is_deformer(const CheckpointInfo& info) { return info.model_type == "deformer"; }
/// How many layers of a Deformer compute query and document apart: those that do not see what the last one sees.
std::size_t lower_layers_of(const CheckpointInfo& info) {
  const std::vector<Layer>& layers = info.description.stacks.front().layers;
  const auto is_upper = [&](const Layer& layer) {
    return layer.attentions.front().views == layers.back().attentions.front().views;
  };
  return static_cast<std::size_t>(std::ranges::find_if(layers, is_upper) - layers.begin());
}

/// The groups that groups of the first stack do not see: "query -> document".
std::vector<std::string> blind_spots(const CheckpointInfo& info) {
  // Query and candidate are encoded apart, all along or in the lower layers.
  if (is_mix_encoder(info) || is_late_interaction(info) || is_deformer(info)) return {};
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

}  // namespace

nlohmann::ordered_json report_json(const CheckpointInfo& info) {
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
  if (is_described(info) && is_deformer(info)) json["deformer"] = {{"lower_layers", lower_layers_of(info)}};
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
                 {"int16", info.memory.bf16},
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

void print_report(const CheckpointInfo& info, bool tensors) {
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
    } else if (is_deformer(info)) {
      const std::size_t lower = lower_layers_of(info);
      line("layers") << fmt::format("query and document apart in the first {}, together in the other {}\n", lower,
                                    layers_of(info) - lower);
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
    line("memory about") << "CPU: fp32 " << format_bytes(memory.fp32) << ", bf16, int16 " << format_bytes(memory.bf16)
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

nlohmann::ordered_json report_json(const CheckpointCheck& check) {
  nlohmann::ordered_json json = report_json(check.info);
  json["usable"] = check.problems.empty();
  json["problems"] = nlohmann::ordered_json::array();
  for (const Error& problem : check.problems) {
    json["problems"].push_back(
        {{"place", problem.place()}, {"problem", problem.problem()}, {"remedy", problem.remedy()}});
  }
  if (!check.problems.empty()) return json;
  const BackendInfo& used = check.backend;
  json["backend"] = {{"device", used.device},
                     {"precision", to_string(used.precision)},
                     {"instruction_set", used.instruction_set},
                     {"threads", used.threads},
                     {"device_name", used.device_name},
                     {"why_no_gpu", used.why_no_gpu},
                     {"products", used.products},
                     {"launches", used.launches}};
  json["logits"] = check.logits;
  return json;
}

void print_report(const CheckpointCheck& check) {
  print_report(check.info, false);
  if (!check.problems.empty()) return print_problems(check);
  std::cout << std::left << std::setw(18) << "runs on" << describe(check.backend) << "\n";
  if (!check.backend.why_no_gpu.empty()) std::cout << std::setw(18) << "no GPU" << check.backend.why_no_gpu << "\n";
  for (const std::string& product : check.backend.products) std::cout << std::setw(18) << "product" << product << "\n";
  if (!check.backend.launches.empty()) std::cout << std::setw(18) << "launches" << check.backend.launches << "\n";
  std::cout << std::setw(18) << "trial logits";
  for (std::size_t i = 0; i < check.logits.size(); ++i) std::cout << (i == 0 ? "" : ", ") << check.logits[i];
  std::cout << "\nok\n";
}

}  // namespace relucent::program
