#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/checkpoint/checkpoint_reader.h"
#include "model/checkpoint/stated_activation.h"

namespace relucent {

namespace {

WeightMemory estimate_memory(const EncoderDescription& description, std::uint64_t parameters) {
  const auto hidden = static_cast<std::uint64_t>(description.hidden_size);
  std::uint64_t matrices = 0, last = 0;
  const auto add = [&](const Layer& layer) {
    last = (layer.feed_forward.gated ? 3U : 2U) * hidden * static_cast<std::uint64_t>(layer.feed_forward.size);
    for (const Attention& attention : layer.attentions) {
      const auto heads = static_cast<std::uint64_t>(2 * attention.heads + 2 * attention.heads / attention.sharing());
      last += hidden * heads * static_cast<std::uint64_t>(attention.head_size);
    }
    matrices += last;
  };
  for (const Stack& stack : description.stacks) {
    for (const Exchange& exchange : stack.exchanges) add(exchange.layer);
    for (const Layer& layer : stack.layers) add(layer);
  }
  if (const auto& pivots = description.head.pivots) {
    for (std::size_t group = 0; group < description.head.groups.size(); ++group) {
      for (const Layer& layer : pivots->layers) add(layer);
    }
  }
  // The CPU keeps embeddings in fp32, and the last block's matrices a second time, in int8 in fp32.
  const std::uint64_t others = 4 * (parameters - std::min(matrices, parameters));
  const std::uint64_t projections = 3 * hidden * hidden;
  return {.fp32 = others + 4 * (matrices + projections),
          .bf16 = others + 2 * (matrices + projections),
          .int8 = others + matrices + 4 * last,
          .gpu_fp32 = 4 * parameters,
          .gpu_fp16 = 2 * parameters};
}

void describe_configuration(const CheckpointParts& parts, CheckpointInfo& info) {
  info.architecture = parts.configuration->architecture;
  info.description = parts.configuration->description;
  info.max_positions = parts.configuration->max_tokens;
  info.max_query_tokens = parts.configuration->input.query_limit;
  info.most_candidates = parts.configuration->input.most_candidates;
  info.labels = parts.configuration->labels;
  info.compared = parts.configuration->input.outputs;
  if (const auto& mix = parts.configuration->mix) {
    info.query_max_length = mix->query_max_length;
    info.candidate_max_length = mix->candidate_max_length;
  }
  if (const auto& passages = parts.configuration->passages) {
    info.passage_window = passages->graphs.window;
    info.passage_stride = passages->graphs.stride;
    info.max_document_tokens = passages->graphs.max_document_tokens;
    info.max_query_tokens = passages->max_query_tokens;
  }
  if (const auto& split = parts.configuration->input.split) {
    info.passage_window = split->window;
    info.passage_stride = split->stride;
    info.max_passages = split->most;
  }
  info.ignored_keys = parts.configuration->ignored_keys;
  std::erase_if(info.ignored_keys, is_activation_key);
  if (const auto& late = parts.configuration->late) {
    info.query_max_length = late->query.length;
    info.candidate_max_length = late->document.length;
    info.vector_size = info.description.head_size();
    for (const HeadStep& step : late->steps) info.vector_size = step.size > 0 ? step.size : info.vector_size;
    info.unit_vectors = info.description.head.unit_vectors || late->unit_vectors;
    info.query_prompt = late->query.prompt;
    info.document_prompt = late->document.prompt;
  }
  const Head& head = info.description.head;
  if (head.outputs > 1 || head.dot_with || head.per_token) return;
  StatedActivation activation = read_stated_activation(parts.folder, *parts.config);
  info.activation = std::move(activation.name);
  info.activation_source = std::move(activation.source);
  info.warnings = std::move(activation.warnings);
}

void describe_tensors(const CheckpointParts& parts, CheckpointInfo& info) {
  info.file_bytes = parts.file->file_bytes();
  const std::set<std::string> used(parts.used.begin(), parts.used.end());
  std::set<std::string> types;
  for (const SafetensorsEntry& entry : parts.file->entries()) {
    TensorSummary summary{entry.name,
                          entry.type,
                          {entry.shape.begin(), entry.shape.end()},
                          entry.end - entry.begin,
                          used.contains(entry.name)};
    if (summary.used) {
      info.parameters += parts.file->view(entry).elements();
      types.insert(entry.type);
    }
    info.tensors.push_back(std::move(summary));
  }
  info.weight_type = join(types, "+");
}

}  // namespace

CheckpointInfo describe_checkpoint(const CheckpointParts& parts) {
  CheckpointInfo info;
  info.folder = parts.folder;
  if (parts.family != nullptr) info.model_type = parts.family->model_type;
  if (parts.configuration && parts.shapes_known) describe_configuration(parts, info);
  if (parts.tokenizer) {
    info.tokenizer = parts.tokenizer->summary();
    info.vocabulary = parts.tokenizer->vocabulary_size();
    info.max_length = parts.max_length;
    const bool interacts = parts.configuration && parts.configuration->input.interacts;
    if (interacts && !parts.tokenizer->token_id("[INT]")) {
      info.warnings.push_back(
          "the tokenizer has no token [INT]; [DOC] takes its place, as in the first upload of webis/set-encoder-base");
    }
  }
  if (parts.file) describe_tensors(parts, info);
  if (parts.weights) info.memory = estimate_memory(info.description, info.parameters);
  return info;
}

CheckpointInfo inspect_checkpoint(const std::filesystem::path& folder) {
  FaultList faults(FaultList::Mode::throw_first);
  return describe_checkpoint(read_parts(folder, faults));
}

}  // namespace relucent
