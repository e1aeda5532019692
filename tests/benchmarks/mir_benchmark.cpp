// What MIR costs per document, compared with the same passages through a cross-encoder of the same size (MaxP). Random
// weights: the time does not depend on them.
//
//   mir_benchmark [LAYERS] [HIDDEN] [fp32|bf16|int8] [THREADS]        (default: 4 768 fp32 1)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <string>

#include "model/families/families.h"
#include "model/formats/json_file.h"
#include "model/mir/passage_batch.h"

namespace relucent {
namespace {

constexpr std::int32_t kVocabulary = 1000;

/// Random tensors and the memory they lie in.
class Weights {
 public:
  TensorView tensor(std::vector<std::int64_t> shape) {
    std::size_t elements = 1;
    for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
    std::vector<float>& values = memory_.emplace_back(elements);
    for (float& value : values) value = static_cast<float>(random_() % 2001) / 50000.0F - 0.02F;
    return {DataType::f32, std::move(shape), reinterpret_cast<const std::byte*>(values.data())};
  }
  LinearWeights linear(std::int64_t out, std::int64_t in) { return {tensor({out, in}), tensor({out})}; }
  NormWeights norm(std::int64_t size) { return {tensor({size}), tensor({size})}; }
  LayerWeights layer(std::int64_t hidden, std::int64_t inner) {
    LayerWeights weights;
    AttentionWeights& attention = weights.attentions.emplace_back();
    attention.norm = norm(hidden);
    for (LinearWeights* part : {&attention.query, &attention.key, &attention.value, &attention.output}) {
      *part = linear(hidden, hidden);
    }
    weights.feed_forward = {norm(hidden), linear(inner, hidden), LinearWeights(), linear(hidden, inner)};
    return weights;
  }

 private:
  std::minstd_rand random_{1};
  std::deque<std::vector<float>> memory_;
};

/// A document whose passages have seven sentences each, and ten mentions of ten words.
DocumentGraph document_of(const GraphSettings& settings, std::int32_t pieces) {
  DocumentGraph graph;
  graph.pieces = pieces;
  for (std::int32_t i = 0; i < pieces; ++i) graph.sentence_starts.push_back(i % 19 == 0);
  for (std::int32_t i = 0; i + 1 < pieces; i += 12) {
    const std::int32_t number = i / 12;
    graph.mentions.push_back({i, 1 + number % 2, number < 10 ? number : number * 7 % 10});
  }
  const auto passages = static_cast<std::int32_t>(passages_of(settings, pieces).size());
  for (std::int32_t i = 0; i < passages; ++i) {
    for (std::int32_t j = i + 1; j < std::min(passages, i + 4); ++j) graph.passage_links.emplace_back(i, j);
  }
  return graph;
}

double milliseconds(const Backend& backend, const ScoringBatch& batch, std::size_t count) {
  std::vector<float> logits(count);
  std::vector<double> times;
  for (int run = 0; run < 4; ++run) {
    const auto start = std::chrono::steady_clock::now();
    backend.score(batch, logits);
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return *std::min_element(times.begin() + 1, times.end());
}

int measure(std::int64_t layers, std::int64_t hidden, const std::string& precision, int threads) {
  JsonFile config;
  config.object() = {{"architectures", {"MirForSequenceClassification"}},
                     {"model_type", "mir"},
                     {"vocab_size", kVocabulary},
                     {"hidden_size", hidden},
                     {"num_hidden_layers", layers},
                     {"num_attention_heads", hidden / 64},
                     {"intermediate_size", 4 * hidden},
                     {"max_position_embeddings", 512},
                     {"psg_token_id", 1},
                     {"snt_token_id", 2}};
  const FamilyConfiguration mir = kMirFamily.read_configuration(config);
  Weights random;
  EncoderWeights weights;
  weights.word_embeddings = random.tensor({kVocabulary, hidden});
  weights.position_embeddings = random.tensor({512, hidden});
  weights.token_type_embeddings = random.tensor({2, hidden});
  weights.embedding_norm = random.norm(hidden);
  weights.stacks.emplace_back();
  for (std::int64_t i = 0; i < layers; ++i) {
    weights.stacks[0].layers.push_back(random.layer(hidden, 4 * hidden));
    weights.stacks[0].exchanges.push_back({random.layer(hidden, 4 * hidden), random.linear(hidden, 2 * hidden)});
  }
  for (int view = 0; view < 3; ++view) {
    weights.head_pooling.push_back({random.tensor({hidden}), random.linear(hidden, hidden),
                                    random.linear(hidden, hidden), random.linear(hidden, hidden),
                                    random.linear(hidden, hidden)});
  }
  weights.head_steps = {{.dense = random.linear(hidden, 3 * hidden)}};
  weights.head_output = random.linear(1, hidden);
  BackendOptions options;
  options.device = Device::cpu();
  options.precision = parse_precision(precision);
  options.threads = threads;
  const auto with_exchanges = create_backend(mir.description, weights, options);

  // The same layers as a cross-encoder.
  EncoderDescription plain = mir.description;
  plain.groups = cross_encoder_groups();
  plain.stacks.front().exchanges.clear();
  for (Layer& layer : plain.stacks.front().layers) layer.attentions.front().views = views_of({});
  plain.head = {.groups = {kCls}, .steps = {{.size = plain.hidden_size, .activation = Activation::tanh}}};
  weights.stacks.front().exchanges.clear();
  weights.head_pooling.clear();
  weights.head_steps = {{.dense = random.linear(hidden, hidden)}};
  const auto cross_encoder = create_backend(plain, weights, options);

  std::printf("%s, %lld layers of %lld\n", describe(with_exchanges->info()).c_str(), static_cast<long long>(layers),
              static_cast<long long>(hidden));
  const std::vector<std::int32_t> query{5, 6, 7, 8, 9, 10, 11, 12};
  for (const std::int32_t pieces : {512, 2048}) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(pieces));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(10 + i * 7 % 900);
    PassageBatch batch(*mir.passages, query);
    batch.add(ids, document_of(mir.passages->graphs, pieces));
    const ScoringBatch of_mir = batch.batch(), of_plain{of_mir.shared, of_mir.candidates};
    std::size_t nodes = 0;
    for (const Pivots& pivots : of_mir.documents.front().pivots) nodes += pivots.pivots.size();
    const double mir_time = milliseconds(*with_exchanges, of_mir, 1);
    const double plain_time = milliseconds(*cross_encoder, of_plain, of_plain.candidates.size());
    std::printf("%d pieces, %zu passages, %zu pivots: MIR %.1f ms, MaxP %.1f ms, %.2f times\n", pieces,
                of_plain.candidates.size(), nodes, mir_time, plain_time, mir_time / plain_time);
  }
  return 0;
}

}  // namespace
}  // namespace relucent

int main(int count, char** arguments) {
  const auto argument = [&](int i, const char* usual) { return std::string(i < count ? arguments[i] : usual); };
  return relucent::measure(std::stoll(argument(1, "4")), std::stoll(argument(2, "768")), argument(3, "fp32"),
                           std::stoi(argument(4, "1")));
}
