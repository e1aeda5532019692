#include "relucent/model/late_interaction.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/checksum.h"
#include "model/checkpoint/checkpoint_reader.h"
#include "model/checkpoint/hub_cache.h"
#include "model/checkpoint/sentence_transformers.h"
#include "model/checkpoint/weights_checksum.h"
#include "model/input/late_input.h"
#include "model/input/text_head.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::size_t kVectorsPerCall = 1 << 15;  // keeps the memory of the vectors bounded

/// Fingerprint of everything that a document's vectors depend on.
std::uint64_t document_fingerprint(const Checkpoint& checkpoint) {
  const EncoderDescription& d = checkpoint.configuration.description;
  const EncoderWeights& weights = checkpoint.weights.weights;
  const LateForm::Side& form = checkpoint.configuration.late->document;
  const Attention& attention = d.stacks.front().layers.front().attentions.front();
  Checksum sum;
  sum.add(fmt::format("{} {} {} {} {} {} {} {} {}", checkpoint.tokenizer->fingerprint(), form.length, form.marker,
                      form.skips_punctuation, d.head_size(), d.head.unit_vectors, attention.heads,
                      static_cast<int>(d.stacks.front().layers.front().feed_forward.activation), d.norm_epsilon));
  if (form.first_only) sum.add("\nfirst token");
  for (const std::string& token : form.skipped) sum.add(fmt::format("\n{}", token));
  if (d.head.per_text) {
    const LateForm& text = *checkpoint.configuration.late;
    sum.add(fmt::format("\n{} {} {} {} {}", form.prompt, static_cast<int>(d.head.pooling), text.unit_vectors,
                        text.first_position, attention.positions.rate));
    for (std::size_t i = 0; i < text.steps.size(); ++i) {
      const HeadStep& step = text.steps[i];
      sum.add(fmt::format("\n{} {} {} {}", step.size, static_cast<int>(step.activation),
                          static_cast<int>(step.residual), step.norm));
      add_linear(sum, text.step_weights[i].dense);
      add_linear(sum, text.step_weights[i].residual);
      add_norm(sum, text.step_weights[i].norm);
    }
  }
  for (const Layer& layer : d.stacks.front().layers) {
    const View& view = layer.attentions.front().views[kDocument][kDocument];
    sum.add(
        fmt::format("\n{} {} {}", static_cast<int>(view.kind), view.window, layer.attentions.front().positions.theta));
  }
  add_embeddings(sum, weights);
  for (const LayerWeights& layer : weights.stacks.front().layers) add_layer(sum, layer);
  add_norm(sum, weights.stacks.front().final_norm);
  if (!d.head.per_text) add_linear(sum, weights.head_steps.front().dense);
  return sum.value();
}

class LoadedLateInteraction final : public LateInteraction {
 public:
  LoadedLateInteraction(Checkpoint checkpoint, const BackendOptions& options)
      : folder_(checkpoint.folder),
        fingerprint_(document_fingerprint(checkpoint)),
        tokenizer_(std::move(checkpoint.tokenizer)),
        input_(checkpoint.configuration, *tokenizer_, folder_),
        over_(checkpoint.configuration.late->over),
        max_length_(checkpoint.configuration.late->document.length),
        head_(checkpoint.configuration.description.head.per_text
                  ? std::make_optional<TextHead>(checkpoint.configuration)
                  : std::nullopt),
        hidden_(static_cast<std::size_t>(checkpoint.configuration.description.hidden_size)),
        size_(head_ ? head_->size() : checkpoint.configuration.description.head_size()),
        query_codes_(checkpoint.weights.query_codes),
        threads_(options.threads),
        backend_(create_backend(checkpoint.configuration.description, checkpoint.weights.weights, options)) {}

  std::int32_t size() const noexcept override { return size_; }
  bool per_text() const noexcept override { return head_.has_value(); }
  std::uint64_t fingerprint() const noexcept override { return fingerprint_; }
  const BackendInfo& backend() const noexcept override { return backend_->info(); }
  const std::filesystem::path& checkpoint() const noexcept override { return folder_; }
  std::int32_t max_length() const noexcept override { return max_length_; }

  std::vector<std::vector<float>> encode(std::span<const std::string_view> texts,
                                         const StopSignal& stop) const override {
    std::vector<std::vector<float>> all;
    std::vector<LateInput::Text> some;
    std::size_t tokens = 0;
    const auto run_some = [&] {
      for (std::vector<float>& vectors : run(some, stop)) all.push_back(std::move(vectors));
      some.clear();
      tokens = 0;
    };
    for (const std::string_view text : texts) {
      some.push_back(input_.document(text, stop));
      tokens += some.back().ids.size();
      if (tokens >= kVectorsPerCall) run_some();
    }
    run_some();
    return all;
  }

  LateScores score(std::string_view query, std::span<const LateCandidate> candidates,
                   const StopSignal& stop) const override;

 private:
  /// The vectors of the texts' tokens that score, or one of each text.
  std::vector<std::vector<float>> run(std::span<const LateInput::Text> texts, const StopSignal& stop) const {
    std::vector<Segment> segments;
    std::size_t tokens = 0;
    for (const LateInput::Text& text : texts) {
      segments.push_back(input_.segment(text));
      tokens += text.ids.size();
    }
    std::vector<std::vector<float>> kept(texts.size());
    if (head_) {
      std::vector<float> pooled(texts.size() * hidden_);
      backend_->encode(segments, pooled, stop);
      for (std::size_t i = 0; i < texts.size(); ++i)
        kept[i] = (*head_)(std::span(pooled).subspan(i * hidden_, hidden_));
      return kept;
    }
    const auto size = static_cast<std::size_t>(size_);
    std::vector<float> vectors(tokens * size);
    backend_->encode(segments, vectors, stop);
    const float* vector = vectors.data();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (const bool scores : texts[i].scores) {
        if (scores) kept[i].insert(kept[i].end(), vector, vector + size);
        vector += size;
      }
    }
    return kept;
  }

  /// For each code c the mean of the vectors v, weighed by the softmax of c . v.
  std::vector<float> coded(std::span<const float> vectors) const {
    const auto size = static_cast<std::size_t>(size_), tokens = vectors.size() / size;
    std::vector<float> result(query_codes_.size());
    std::vector<double> weights(tokens);
    for (std::size_t code = 0; code < query_codes_.size(); code += size) {
      for (std::size_t t = 0; t < tokens; ++t) {
        weights[t] = std::inner_product(vectors.begin() + static_cast<std::ptrdiff_t>(t * size),
                                        vectors.begin() + static_cast<std::ptrdiff_t>((t + 1) * size),
                                        query_codes_.begin() + static_cast<std::ptrdiff_t>(code), 0.0);
      }
      const double highest = *std::max_element(weights.begin(), weights.end());
      for (double& weight : weights) weight = std::exp(weight - highest);
      const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
      for (std::size_t f = 0; f < size; ++f) {
        double sum = 0;
        for (std::size_t t = 0; t < tokens; ++t) sum += weights[t] * vectors[t * size + f];
        result[code + f] = static_cast<float>(sum / total);
      }
    }
    return result;
  }

  std::filesystem::path folder_;
  std::uint64_t fingerprint_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  LateInput input_;
  MaxSimQuery::Over over_;
  std::int32_t max_length_;
  std::optional<TextHead> head_;  // of a model with a vector per text
  std::size_t hidden_;
  std::int32_t size_;
  std::vector<float> query_codes_;  // [codes][size]; empty: each token of a query has a vector
  int threads_;
  std::unique_ptr<const Backend> backend_;
};

LateScores LoadedLateInteraction::score(std::string_view query, std::span<const LateCandidate> candidates,
                                        const StopSignal& stop) const {
  LateScores scores;
  scores.candidates.resize(candidates.size());
  auto start = std::chrono::steady_clock::now();
  const auto lap = [&](std::chrono::nanoseconds& time) {
    const auto now = std::chrono::steady_clock::now();
    time += now - std::exchange(start, now);
  };
  const LateInput::Text query_text = input_.query(query, stop);
  scores.query_truncated = query_text.truncated;
  lap(scores.times.tokenize);
  std::vector<float> of_query = run({&query_text, 1}, stop).front();
  if (!query_codes_.empty()) of_query = coded(of_query);
  const MaxSimQuery compared{of_query, static_cast<std::size_t>(size_), over_};
  lap(scores.times.encode);

  std::vector<StoredVectors> documents;
  std::vector<std::size_t> places;
  std::vector<LateInput::Text> texts;
  std::size_t tokens = 0;
  std::vector<float> values;
  const auto compare = [&] {
    values.resize(documents.size());
    max_sim(compared, documents, values, threads_, stop);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        throw Error(ErrorKind::invalid_data, folder_.string(), "the model's score is not a finite number",
                    "run `relucent model check`: the weights are damaged, or the candidate's vectors are");
      }
      scores.candidates[places[i]].score = values[i];
    }
    documents.clear();
    places.clear();
    lap(scores.times.encode);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].vectors.bytes.empty()) continue;
    documents.push_back(candidates[i].vectors);
    places.push_back(i);
  }
  if (!documents.empty()) compare();
  // Texts are encoded and compared a part at a time.
  const auto encode_texts = [&] {
    lap(scores.times.tokenize);
    const std::vector<std::vector<float>> encoded = run(texts, stop);
    for (const std::vector<float>& vectors : encoded) {
      documents.push_back(
          {EmbeddingNumbers::fp32, {reinterpret_cast<const char*>(vectors.data()), vectors.size() * sizeof(float)}});
    }
    compare();
    texts.clear();
    tokens = 0;
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].vectors.bytes.empty()) continue;
    texts.push_back(input_.document(candidates[i].text, stop));
    places.push_back(i);
    scores.candidates[i].tokens = static_cast<std::int32_t>(texts.back().ids.size());
    scores.candidates[i].truncated = texts.back().truncated;
    tokens += texts.back().ids.size();
    if (tokens >= kVectorsPerCall) encode_texts();
  }
  if (!texts.empty()) encode_texts();
  return scores;
}

}  // namespace

std::shared_ptr<const LateInteraction> LateInteraction::load(const std::filesystem::path& checkpoint,
                                                             const BackendOptions& options) {
  Checkpoint read = read_checkpoint(checkpoint);
  if (!read.configuration.late) {
    throw Error(ErrorKind::unsupported, checkpoint.string(), "is neither a model of late interaction nor of embeddings",
                "use a ColBERT in the layout of colbert-ai, PyLate or Lightning IR, or an embedding model of "
                "sentence-transformers");
  }
  return std::make_shared<LoadedLateInteraction>(std::move(read), options);
}

bool LateInteraction::is(const std::filesystem::path& checkpoint) {
  const JsonFile config = JsonFile::read(model_folder(checkpoint) / "config.json");
  return find_family(config).late_interaction || is_embedding_model(config);
}

}  // namespace relucent
