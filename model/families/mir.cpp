#include <fmt/core.h>

#include <algorithm>

#include "model/families/bert.h"
#include "model/families/config_reader.h"
#include "model/families/families.h"
#include "model/families/tensor_reader.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::string_view kMirArchitectures[] = {"MirForSequenceClassification"};

constexpr std::int64_t kMostNodes = 4096;  // their graph may be a bit per pair

constexpr const char* kViews[] = {"passage", "sentence", "token"};

/// The paper's ablations of views and links.
std::vector<PassageForm::View> read_views(ConfigReader& config) {
  const JsonFile& file = config.file();
  std::vector<PassageForm::View> views;
  const auto* stated = config.find("mir_views");
  if (stated != nullptr && !stated->is_array())
    file.fail("mir_views", "is not a list", "name passage, sentence, token");
  for (std::int32_t i = 0; i < 3; ++i) {
    const bool present = stated == nullptr || std::find(stated->begin(), stated->end(), kViews[i]) != stated->end();
    if (present) views.push_back({i});
  }
  if (views.empty() || (stated != nullptr && stated->size() != views.size())) {
    file.fail("mir_views", "does not name some of passage, sentence and token, each once");
  }
  const auto* links = config.find("mir_links");
  if (links == nullptr) return views;
  if (!links->is_object()) file.fail("mir_links", "is not an object", "write {\"passage\": \"none\"}");
  for (const auto& [name, value] : links->items()) {
    const auto view =
        std::ranges::find_if(views, [&wanted = name](const auto& one) { return wanted == kViews[one.number]; });
    if (view == views.end()) file.fail("mir_links", fmt::format("{} is not a view of the model", name));
    if (value == "graph" || value == "none" || value == "all") {
      view->links = value == "graph" ? PivotLinks::graph : value == "none" ? PivotLinks::none : PivotLinks::all;
    } else {
      config.unsupported("mir_links", fmt::format("unknown links {} of {}", value.dump(), name),
                         "use graph, none (a pivot sees itself alone) or all");
    }
  }
  return views;
}

/// Refuses the networks that the paper's ablations try and Relucent does not compute by name.
[[noreturn]] void refuse_network(ConfigReader& config, const char* key, const std::string& how, const char* remedy) {
  const bool named = how == "gcn" || how == "gin" || how == "graphsage" || how == "cnn";
  config.unsupported(key, named ? how + " is not computed: Relucent computes no convolutions" : "unknown value " + how,
                     remedy);
}

/// The paper's ablations of the pooling; its vector is that of attention.
PivotPooling read_pooling(ConfigReader& config, const Layer& like) {
  const std::string how = config.text("mir_pooling", "attention");
  if (how == "attention") return {.heads = like.attentions.front().heads};
  if (how == "max") return {.kind = PivotPooling::Kind::maximum};
  if (how != "transformer") refuse_network(config, "mir_pooling", how, "use attention, max or transformer");
  const std::int32_t layers = config.size_or("mir_pooling_layers", 64, 2);
  return {.kind = PivotPooling::Kind::layers, .layers = std::vector<Layer>(static_cast<std::size_t>(layers), like)};
}

/// Pivots pass through a Transformer's layers; the paper also tries graph networks.
void check_graph_encoder(ConfigReader& config) {
  const std::string how = config.text("mir_graph_encoder", "transformer");
  if (how != "transformer") refuse_network(config, "mir_graph_encoder", how, "use transformer");
}

/// Whether pivots are exchanged after every layer, or after the last one alone.
bool exchanges_often(ConfigReader& config) {
  const std::string when = config.text("mir_exchanges", "every");
  if (when != "every" && when != "last") {
    config.unsupported("mir_exchanges", "unknown value " + when, "use every or last: the layers with an exchange");
  }
  return when == "every";
}

/// What the graphs of the training were made of.
std::optional<GraphOrigins> read_origins(ConfigReader& config) {
  const std::string weights = config.text("graph_weights", "");
  const bool entities = config.flag("graph_entities", false);
  if (weights.empty()) return std::nullopt;
  for (const char* known : {GraphOrigins::kTfidf, GraphOrigins::kQueryLog, GraphOrigins::kFile}) {
    if (weights == known) return GraphOrigins{weights, entities};
  }
  config.unsupported("graph_weights", "unknown weights " + weights, "use tfidf, prf or file");
}

PassageForm read_passage_form(ConfigReader& config, const EncoderDescription& description) {
  PassageForm form;
  GraphSettings& graphs = form.graphs;
  const JsonFile& file = config.file();
  graphs.window = config.size_or("passage_window", 1 << 16, graphs.window);
  graphs.stride = config.size_or("passage_stride", 1 << 16, graphs.stride);
  if (graphs.stride > graphs.window) {
    file.fail("passage_stride", fmt::format("{} is more than passage_window {}", graphs.stride, graphs.window),
              "passages may overlap, but leave no gaps");
  }
  graphs.max_document_tokens = config.size_or("max_document_tokens", (1 << 16) - 1, graphs.max_document_tokens);
  form.max_query_tokens = config.integer_or("max_query_tokens", 0, 1 << 16, form.max_query_tokens);
  graphs.max_sentence_nodes = config.integer_or("max_sentence_nodes", 0, kMostNodes, graphs.max_sentence_nodes);
  graphs.max_token_nodes = config.integer_or("max_token_nodes", 0, kMostNodes, graphs.max_token_nodes);
  graphs.max_terms = config.integer_or("max_terms", 0, 1 << 16, graphs.max_terms);
  graphs.passage_neighbours = config.integer_or("passage_neighbours", 0, 1 << 16, graphs.passage_neighbours);
  config.find("entity_min_score");
  graphs.entity_min_score = file.number("entity_min_score").value_or(graphs.entity_min_score);
  // Every piece may start a sentence, and so have a token before it.
  const std::int64_t longest = std::int64_t{1} + form.max_query_tokens + 2 * std::int64_t{graphs.window};
  if (longest > description.max_positions) {
    file.fail("passage_window",
              fmt::format("a passage may need {} positions, 1 + max_query_tokens + 2 * passage_window, but "
                          "max_position_embeddings is {}",
                          longest, description.max_positions),
              "choose a smaller passage_window");
  }
  const auto token = [&](std::string_view key) {
    config.find(key);
    return static_cast<std::int32_t>(file.required_integer(key, 0, description.vocabulary_size - 1));
  };
  form.views = read_views(config);
  form.trained_with = read_origins(config);
  form.shares_layers = config.flag("mir_shared_layers", false);
  form.passage_token = token("psg_token_id");
  form.sentence_token = token("snt_token_id");
  return form;
}

FamilyConfiguration read_mir_configuration(const JsonFile& file) {
  ConfigReader config(file);
  FamilyConfiguration result;
  result.architecture = config.architecture(kMirArchitectures);
  EncoderDescription& description = result.description;
  std::vector<Layer> layers = read_passage_layers(config, description);
  result.max_tokens = description.max_positions;

  result.passages = read_passage_form(config, description);
  description.groups = cross_encoder_groups();
  Exchange exchange{{}, layers.front()};
  for (const PassageForm::View& view : result.passages->views) {
    exchange.groups.push_back(static_cast<std::int32_t>(description.groups.size()));
    description.groups.push_back({.name = fmt::format("{} pivots", kViews[view.number]),
                                  .input = Dependence::pair,
                                  .pivots_of = view.number == 0 ? kCls : kDocument});
  }
  const PivotPooling pooling = read_pooling(config, layers.front());
  check_graph_encoder(config);
  const std::size_t groups = description.groups.size();
  exchange.combines = exchanges_often(config);
  Views within;
  within.assign(groups, {});
  for (std::size_t from = 0; from <= kDocument; ++from) {
    within[from].resize(groups);
    for (std::size_t to = 0; to <= kDocument; ++to) within[from][to] = {View::Kind::all};
  }
  for (Layer& layer : layers) layer.attentions.front().views = within;
  Views& between = exchange.layer.attentions.front().views;
  between.assign(groups, {});
  for (std::size_t pivots = kPassagePivots; pivots < groups; ++pivots) {
    between[pivots].resize(groups);
    between[pivots][pivots] = {View::Kind::linked};
  }
  const std::size_t count = layers.size();
  Stack& stack = description.stacks.emplace_back();
  stack = {{kCls, kQuery, kDocument}, std::move(layers), false, std::vector<Exchange>(count, exchange)};
  stack.exchanges.back().combines = false;
  description.head = {.groups = exchange.groups, .pivots = pooling, .steps = {{.size = description.hidden_size}}};
  result.ignored_keys = config.unread_keys();
  return result;
}

PoolingWeights read_pooling_weights(TensorReader& reader, const std::string& view, const PivotPooling& form,
                                    std::int64_t hidden) {
  PoolingWeights pooling;
  if (form.kind == PivotPooling::Kind::maximum) return pooling;
  pooling.vector = reader.vector(view + "pooling_vector", hidden);
  if (form.kind == PivotPooling::Kind::layers) {
    pooling.layers = read_bert_layers(reader, view + "layer.", form.layers, hidden);
    reader.refuse_more(view + "layer.", form.layers.size());
    return pooling;
  }
  pooling.query = reader.linear(view + "query", hidden, hidden, false);
  pooling.key = reader.linear(view + "key", hidden, hidden, false);
  pooling.value = reader.linear(view + "value", hidden, hidden, false);
  pooling.output = reader.linear(view + "output", hidden, hidden, false);
  return pooling;
}

FamilyWeights read_mir_weights(TensorReader& reader, const FamilyConfiguration& configuration,
                               std::span<const std::int32_t>) {
  const EncoderDescription& description = configuration.description;
  const Stack& form = description.stacks.front();
  const std::int64_t hidden = description.hidden_size, inner = form.layers.front().feed_forward.size;
  FamilyWeights result;
  EncoderWeights& weights = result.weights;
  read_bert_embeddings(reader, "bert.", description.vocabulary_size, description, result);
  weights.stacks = {read_bert_layers(reader, "bert.", description)};
  reader.refuse_more("bert.encoder.layer.", form.layers.size());
  const PassageForm& passages = *configuration.passages;
  const auto read_exchange = [&](std::size_t i) {
    const std::string layer = fmt::format("bert.encoder.layer.{}.", i);
    ExchangeWeights exchange;
    exchange.layer = read_bert_layer(reader, passages.shares_layers ? layer : layer + "inter.", hidden, inner);
    // The last layer's changes nothing that is read, and may be missing.
    if (form.exchanges[i].combines) exchange.combine = reader.linear(layer + "combine", hidden, 2 * hidden, false);
    return exchange;
  };
  const std::size_t count = form.layers.size();
  for (std::size_t i = 0; i < count; ++i) {
    // Where no token takes up pivots, no weights of theirs are read but the last ones.
    const bool counts = form.exchanges[i].combines || i + 1 == count;
    weights.stacks.front().exchanges.push_back(read_exchange(counts ? i : count - 1));
  }
  for (const PassageForm::View& view : passages.views) {
    const std::string name = fmt::format("aggregation.{}.", kViews[view.number]);
    weights.head_pooling.push_back(read_pooling_weights(reader, name, *description.head.pivots, hidden));
  }
  const auto views = static_cast<std::int64_t>(passages.views.size());
  weights.head_steps = {{.dense = reader.linear("aggregation.combine", hidden, views * hidden, false)}};
  weights.head_output = reader.linear("classifier", 1, hidden, false);
  weights.storage = reader.file().storage();
  result.used = reader.used();
  return result;
}

}  // namespace

const Family kMirFamily{"mir", kMirArchitectures, read_mir_configuration, read_mir_weights};

}  // namespace relucent
