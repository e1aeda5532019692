#include "relucent/model/mix_encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/checksum.h"
#include "model/checkpoint/checkpoint_reader.h"
#include "model/checkpoint/hub_cache.h"
#include "model/checkpoint/weights_checksum.h"
#include "model/input/mix_input.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::size_t kTextTokensPerCall = 1 << 17;  // keeps a backend's memory bounded

/// Fingerprint of everything that a text's context depends on.
std::uint64_t fingerprint_of(const Checkpoint& checkpoint) {
  const EncoderDescription& d = checkpoint.configuration.description;
  const EncoderWeights& weights = checkpoint.weights.weights;
  const Layer& layer = d.stacks.front().layers.front();
  const Derivation& derived = *d.groups[kContext].derived;
  Checksum sum;
  sum.add(fmt::format("{} {} {} {} {} {} {} {} {}", checkpoint.tokenizer->fingerprint(),
                      checkpoint.configuration.mix->candidate_max_length, static_cast<int>(derived.kind),
                      derived.tokens, d.hidden_size, layer.attentions.front().heads, d.stacks.front().layers.size(),
                      static_cast<int>(layer.feed_forward.activation), d.norm_epsilon));
  add_embeddings(sum, weights);
  if (derived.kind == Derivation::Kind::codes) add_tensor(sum, weights.codes);
  for (const LayerWeights& of : weights.stacks.front().layers) add_layer(sum, of);
  return sum.value();
}

class LoadedMixEncoder final : public MixEncoder {
 public:
  LoadedMixEncoder(Checkpoint checkpoint, const BackendOptions& options)
      : folder_(checkpoint.folder),
        fingerprint_(fingerprint_of(checkpoint)),
        tokenizer_(std::move(checkpoint.tokenizer)),
        input_(checkpoint.configuration, *tokenizer_),
        hidden_(checkpoint.configuration.description.hidden_size),
        labels_(checkpoint.configuration.labels),
        backend_(create_backend(checkpoint.configuration.description, checkpoint.weights.weights, options)) {}

  std::int32_t rows() const noexcept override { return static_cast<std::int32_t>(input_.context_tokens()); }
  std::int32_t hidden() const noexcept override { return hidden_; }
  std::uint64_t fingerprint() const noexcept override { return fingerprint_; }
  const BackendInfo& backend() const noexcept override { return backend_->info(); }
  const std::filesystem::path& checkpoint() const noexcept override { return folder_; }
  std::int32_t max_length() const noexcept override { return input_.candidate_max_length(); }

  void encode(std::span<const std::string_view> texts, std::span<float> states, const StopSignal& stop) const override {
    if (states.size() != texts.size() * size()) {
      throw Error(
          ErrorKind::usage, "texts",
          fmt::format("are {}, but there is room for {} states of {} numbers", texts.size(), states.size(), size()));
    }
    for (std::size_t first = 0; first < texts.size();) {
      Tokenized some;
      for (; first < texts.size() && (some.ids.empty() || some.tokens < kTextTokensPerCall); ++first) {
        add(texts[first], some, stop);
      }
      run(some, states, stop);
      states = states.subspan(some.ids.size() * size());
    }
  }

  MixScores score(std::string_view query, std::span<const MixCandidate> candidates,
                  const StopSignal& stop) const override {
    refuse_labels(folder_, labels_);
    std::vector<float> logits(candidates.size());
    MixScores scores = compute(query, candidates, logits, stop);
    for (std::size_t i = 0; i < logits.size(); ++i) scores.candidates[i].score = logits[i];
    return scores;
  }

  std::vector<std::string> labels() const override { return labels_; }

  std::vector<float> classify(std::string_view query, std::span<const MixCandidate> candidates,
                              const StopSignal& stop) const override {
    require_labels(folder_, labels_);
    std::vector<float> logits(candidates.size() * labels_.size());
    compute(query, candidates, logits, stop);
    return logits;
  }

 private:
  /// Texts as ids.
  struct Tokenized {
    std::vector<std::vector<std::int32_t>> ids;
    std::size_t tokens = 0;
  };

  /// Writes the logits of candidates; what is returned lacks the scores.
  MixScores compute(std::string_view query, std::span<const MixCandidate> candidates, std::span<float> logits,
                    const StopSignal& stop) const;

  std::size_t size() const { return input_.context_tokens() * static_cast<std::size_t>(hidden_); }

  /// Returns whether the text was cut.
  bool add(std::string_view text, Tokenized& to, const StopSignal& stop) const {
    std::vector<std::int32_t> words;
    const bool cut = tokenizer_->encode(text, input_.candidate_words(), words, stop);
    to.ids.push_back(input_.candidate(words));
    to.tokens += to.ids.back().size();
    return cut;
  }

  void run(const Tokenized& texts, std::span<float> states, const StopSignal& stop) const {
    std::vector<Segment> segments;
    for (const auto& ids : texts.ids) segments.push_back(input_.segment(kDocument, ids));
    backend_->encode(segments, states.first(segments.size() * size()), stop);
  }

  std::filesystem::path folder_;
  std::uint64_t fingerprint_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  MixInput input_;
  std::int32_t hidden_;
  std::vector<std::string> labels_;
  std::unique_ptr<const Backend> backend_;
};

MixScores LoadedMixEncoder::compute(std::string_view query, std::span<const MixCandidate> candidates,
                                    std::span<float> logits, const StopSignal& stop) const {
  MixScores scores;
  scores.candidates.resize(candidates.size());
  auto start = std::chrono::steady_clock::now();
  const auto lap = [&](std::chrono::nanoseconds& time) {
    const auto now = std::chrono::steady_clock::now();
    time += now - std::exchange(start, now);
  };
  std::vector<std::int32_t> words;
  scores.query_truncated = tokenizer_->encode(query, input_.query_words(), words, stop);
  scores.query_tokens = static_cast<std::int32_t>(words.size());
  const std::vector<std::int32_t> query_ids = input_.query(words);
  // Texts are encoded a part at a time, and then given by their states like the others.
  std::vector<Segment> contexts;
  std::vector<std::vector<float>> encoded;
  Tokenized texts;
  std::vector<std::size_t> places;
  const auto encode_texts = [&] {
    lap(scores.times.tokenize);
    std::vector<float>& states = encoded.emplace_back(places.size() * size());
    run(texts, states, stop);
    for (std::size_t i = 0; i < places.size(); ++i) {
      contexts[places[i]] = input_.context(std::span(states).subspan(i * size(), size()));
    }
    texts = {};
    places.clear();
    lap(scores.times.encode);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const MixCandidate& candidate = candidates[i];
    contexts.push_back(input_.context(candidate.states));
    if (!candidate.states.empty()) {
      if (candidate.states.size() == size()) continue;
      throw Error(ErrorKind::usage, fmt::format("candidate {}", i),
                  fmt::format("has states of {} numbers, but {} has {} vectors of {}", candidate.states.size(),
                              folder_.string(), rows(), hidden_),
                  "encode the candidates with the same checkpoint");
    }
    const std::size_t before = texts.tokens;
    scores.candidates[i].truncated = add(candidate.text, texts, stop);
    scores.candidates[i].tokens = static_cast<std::int32_t>(texts.tokens - before);
    places.push_back(i);
    if (texts.tokens >= kTextTokensPerCall) encode_texts();
  }
  if (!places.empty()) encode_texts();
  lap(scores.times.tokenize);
  if (candidates.empty()) return scores;

  const Segment shared[] = {input_.segment(kQuery, query_ids)};
  std::vector<std::span<const Segment>> segments;
  for (const Segment& context : contexts) segments.emplace_back(&context, 1);
  const DeviceCost cost = backend_->score_with_cost({shared, segments}, logits, stop);
  scores.times.device = cost.time;
  if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
    throw Error(ErrorKind::invalid_data, folder_.string(), "the model's score is not a finite number",
                "run `relucent model check`: the weights are damaged, or the candidate's states are");
  }
  lap(scores.times.encode);
  return scores;
}

}  // namespace

void MixEncoder::require_scores() const { refuse_labels(checkpoint(), labels()); }

std::shared_ptr<const MixEncoder> MixEncoder::load(const std::filesystem::path& checkpoint,
                                                   const BackendOptions& options) {
  Checkpoint read = read_checkpoint(checkpoint);
  if (!read.configuration.mix) {
    throw Error(ErrorKind::unsupported, checkpoint.string(), "is not a MixEncoder",
                "use a checkpoint whose config.json has the model_type mixencoder");
  }
  return std::make_shared<LoadedMixEncoder>(std::move(read), options);
}

std::string checkpoint_model_type(const std::filesystem::path& folder) {
  const JsonFile config = JsonFile::read(model_folder(folder) / "config.json");
  const auto type = config.string("model_type");
  if (!type) config.fail("model_type", "is missing", "add it or download the file again");
  return *type;
}

}  // namespace relucent
