#include <fmt/core.h>

#include "model/families/bert.h"
#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/tensor_reader.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::string_view kParadeArchitectures[] = {"ParadeForSequenceClassification"};

constexpr std::int32_t kTokensAround = 3;  // [CLS], and [SEP] after the query and the passage
constexpr std::int64_t kMostPassages = 4096;

PassageSplit read_split(ConfigReader& config, FamilyConfiguration& result) {
  PassageSplit split;
  const JsonFile& file = config.file();
  split.window = config.size_or("passage_window", 1 << 16, split.window);
  split.stride = config.size_or("passage_stride", 1 << 16, split.stride);
  if (split.stride > split.window) {
    file.fail("passage_stride", fmt::format("{} is more than passage_window {}", split.stride, split.window),
              "passages may overlap, but leave no gaps");
  }
  split.most = config.size_or("max_passages", kMostPassages, split.most);
  result.input.query_limit = config.size_or("max_query_tokens", 1 << 16, 30);
  const std::int64_t longest = std::int64_t{kTokensAround} + result.input.query_limit + split.window;
  if (longest > result.description.max_positions) {
    file.fail("passage_window",
              fmt::format("a passage may need {} positions, {} + max_query_tokens + passage_window, but "
                          "max_position_embeddings is {}",
                          longest, kTokensAround, result.description.max_positions),
              "choose a smaller passage_window");
  }
  return split;
}

PivotPooling read_aggregation(ConfigReader& config, const Layer& like, std::int32_t passages) {
  const std::string how = config.text("parade_aggregation", "transformer");
  if (how == "max") return {.kind = PivotPooling::Kind::maximum};
  if (how != "transformer") {
    config.unsupported("parade_aggregation", "unknown aggregation " + how,
                       "use max or transformer; the paper's avg, sum, attn and cnn are not computed");
  }
  const std::int32_t layers = config.size_or("aggregation_layers", 64, 2);
  return {.kind = PivotPooling::Kind::layers,
          .layers = std::vector<Layer>(static_cast<std::size_t>(layers), like),
          .positions = passages + 1};
}

FamilyConfiguration read_parade_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = config.architecture(kParadeArchitectures);
  EncoderDescription& description = result.description;
  std::vector<Layer> layers = read_passage_layers(config, description);
  result.input.split = read_split(config, result);
  result.input.typed = true;
  result.input.document_type = 1;
  result.input.cut = PairCut::document_first;
  result.max_tokens = kTokensAround + result.input.query_limit + result.input.split->window;

  description.groups = cross_encoder_groups();
  const auto pivots = static_cast<std::int32_t>(description.groups.size());
  description.groups.push_back({.name = "passages", .input = Dependence::pair, .pivots_of = kCls});
  description.head = {.groups = {pivots}, .pivots = read_aggregation(config, layers.front(), result.input.split->most)};
  Views views = views_of(AttentionPattern());
  for (std::vector<View>& of_group : views) of_group.resize(description.groups.size());
  for (Layer& layer : layers) layer.attentions.front().views = views;
  description.stacks = {Stack{.groups = {kCls, kQuery, kDocument}, .layers = std::move(layers)}};
  result.ignored_keys = config.unread_keys();
  return result;
}

FamilyWeights read_parade_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                                  std::span<const std::int32_t>) {
  const EncoderDescription& description = configuration.description;
  const std::int64_t hidden = description.hidden_size;
  FamilyWeights result = read_bert_encoder(reader, "bert.", description);
  reader.refuse_more("bert.encoder.layer.", description.stacks.front().layers.size());
  EncoderWeights& weights = result.weights;
  const PivotPooling& form = *description.head.pivots;
  PoolingWeights& pooling = weights.head_pooling.emplace_back();
  if (form.kind == PivotPooling::Kind::layers) {
    pooling.vector = reader.vector("aggregation.cls_embedding", hidden);
    pooling.positions = reader.matrix("aggregation.position_embeddings.weight", form.positions, hidden);
    pooling.layers = read_bert_layers(reader, "aggregation.layer.", form.layers, hidden);
    reader.refuse_more("aggregation.layer.", form.layers.size());
  }
  weights.head_output = reader.linear("classifier", 1, hidden);
  result.used = reader.used();
  return result;
}

}  // namespace

const Family kParadeFamily{"parade", kParadeArchitectures, read_parade_configuration, read_parade_weights};

}  // namespace relucent
