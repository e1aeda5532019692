#include "kernels/cuda/encoders/one_token.h"

#include <algorithm>
#include <utility>

namespace relucent::cuda {

OneToken::Places::Places(const OneToken& e, std::byte* base, const ChunkSize& size) {
  const std::size_t hidden = as_size(e.core_.hidden()), heads = as_size(e.core_.heads());
  const std::size_t each = size_of(e.core_.element()), row = size.sequences * as_size(e.core_.width()) * each;
  std::byte* next = base;
  const auto take = [&next](std::size_t bytes) { return std::exchange(next, next + aligned(bytes)); };
  query = take(row);
  absorbed = take(size.sequences * heads * hidden * each);
  partial = reinterpret_cast<float*>(take(size.segments * heads * (hidden + 2) * sizeof(float)));
  mixed = take(size.sequences * heads * hidden * each);
  context = take(row);
  end = next;
}

OneToken::OneToken(Core& core, const Weights& weights, bool sees_itself)
    : core_(core),
      sees_itself_(sees_itself),
      query_(core.linear(core.width(), core.hidden(), weights.query, kUsualCandidates)),
      output_(core.added(core.hidden(), core.width(), weights.output, kUsualCandidates)) {
  const int hidden = core.hidden(), heads = core.heads(), head_size = core.head_size();
  // absorbed[s, head] = W_K of the head, [head_size, hidden], transposed, times q[s] of the head.
  MatmulForm key = core.form(hidden, head_size, weights.key);
  key.weight_is_transposed = true;
  key.batch = heads;
  key.x_stride = core.width(), key.x_batch = head_size;
  key.weight_batch = static_cast<std::int64_t>(head_size) * hidden;
  key.y_stride = heads * hidden, key.y_batch = hidden;
  key.usual_rows = kUsualCandidates;
  absorbed_key_ = core.matmul(key);

  MatmulForm value = core.form(head_size, hidden, weights.value);
  value.batch = heads;
  value.x_stride = heads * hidden, value.x_batch = hidden;
  value.weight_batch = static_cast<std::int64_t>(head_size) * hidden;
  value.y_stride = core.width(), value.y_batch = head_size;
  value.usual_rows = kUsualCandidates;
  value_ = core.matmul(value);
}

void OneToken::run(const PairBatch& batch, const Chunk& chunk, const void* token, const void* x, const Places& places,
                   void* y, Workspace& w) const {
  const ChunkTables tables = core_.tables_of(chunk.size);
  const int rows = as_int(chunk.size.sequences);
  LastAttentionWork work{};
  work.segments = Core::table<Segment>(w, tables.segments);
  work.segment_count = as_int(chunk.size.segments);
  work.sequences = Core::table<Sequence>(w, tables.sequences);
  work.sequence_count = rows;
  work.query_tokens = as_int(batch.query.tokens());
  work.sees_itself = sees_itself_;
  work.sees_query = core_.shape().last_sees_query, work.sees_document = core_.shape().last_sees_document;
  work.heads = core_.heads(), work.hidden = core_.hidden(), work.scale = core_.scale();

  Core::run(*query_, token, places.query, rows, w);
  Core::run(*absorbed_key_, places.query, places.absorbed, rows, w);
  check(last_attention(core_.element(), work, x, places.absorbed, places.partial, places.mixed, w.stream),
        core_.device(), "starting the last attention");
  Core::run(*value_, places.mixed, places.context, rows, w);
  Core::run(*output_, places.context, y, rows, w);
}

TokenHead::Places::Places(const TokenHead& e, std::byte* base, const ChunkSize& size) {
  std::byte* next = base;
  const auto take = [&next](std::size_t bytes) { return std::exchange(next, next + aligned(bytes)); };
  const std::size_t row = size.sequences * as_size(e.most_head_features_);
  for (std::byte*& step : steps) step = take(e.steps_.empty() ? 0 : row * size_of(e.core_.element()));
  pooled = reinterpret_cast<float*>(take(row * sizeof(float)));
  residual = reinterpret_cast<float*>(take(e.steps_.empty() ? 0 : row * sizeof(float)));
  logits = reinterpret_cast<float*>(take(size.sequences * e.logit_bytes_));
  end = next;
}

TokenHead::TokenHead(Core& core, const EncoderDescription& description, const PackedWeights& weights)
    : core_(core),
      head_{nullptr,
            Activation::none,
            {},
            description.head.outputs,
            core.floats_at(weights.head_output),
            core.floats_at(weights.head_output_bias),
            description.head.classifies},
      logit_bytes_(description.head.logits() * sizeof(float)) {
  const auto linear = [&](int out, int in, std::size_t weight) {
    MatmulForm form = core.form(out, in, weight);
    form.float_result = true;
    form.usual_rows = kUsualCandidates;
    return core.matmul(form);
  };
  const std::vector<HeadStep>& forms = description.head.steps;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const HeadStep& form = forms[i];
    const PackedHeadStep& from = weights.head_steps[i];
    const int in = i == 0 ? core.hidden() : steps_.back().size, out = form.size > 0 ? form.size : in;
    Step step{.size = out};
    if (form.size > 0) step.dense = linear(out, in, from.dense.weight);
    if (form.residual == HeadStep::Residual::projected) step.residual = linear(out, in, from.residual.weight);
    step.work = {
        nullptr, core.floats_at(from.dense.bias),    form.activation,        form.residual == HeadStep::Residual::input,
        nullptr, core.floats_at(from.residual.bias), core.norm_at(from.norm)};
    step.work.norm.epsilon = description.epsilon_of(form);
    most_head_features_ = std::max(most_head_features_, out);
    steps_.push_back(std::move(step));
  }
  // The kernel of the output rows also computes what usually comes before them.
  if (forms.empty()) return;
  last_size_ = steps_.back().size;
  if (forms.back().residual != HeadStep::Residual::none) return;
  Step last = std::move(steps_.back());
  steps_.pop_back();
  head_.bias = last.work.bias;
  head_.activation = last.work.activation;
  head_.norm = last.work.norm;
  last_dense_ = std::move(last.dense);
}

void TokenHead::run(const void* states, int rows, const Places& places, Workspace& w) const {
  const Element element = core_.element();
  const int device = core_.device();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    HeadStepWork work = step.work;
    if (step.dense) Core::run(*step.dense, states, places.pooled, rows, w);
    if (step.residual) Core::run(*step.residual, states, places.residual, rows, w);
    work.dense = step.dense ? places.pooled : nullptr;
    work.residual = step.residual ? places.residual : nullptr;
    std::byte* const next = places.steps[i % 2];
    check(head_step(element, work, states, step.size, rows, next, w.stream), device, "starting a step of the head");
    states = next;
  }
  if (last_dense_) Core::run(*last_dense_, states, places.pooled, rows, w);
  check(head(last_dense_ ? Element::f32 : element, head_, last_dense_ ? places.pooled : states, last_size_, rows,
             places.logits, w.stream),
        device, "starting the head");
}

void TokenHead::fetch(int rows, const Places& places, Workspace& w) const {
  w.stream.copy_to_host(w.now().results.data(), places.logits, as_size(rows) * logit_bytes_);
}

}  // namespace relucent::cuda
