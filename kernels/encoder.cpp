#include "relucent/kernels/encoder.h"

#include <cstring>
#include <functional>
#include <numeric>

#include "base/half.h"

namespace relucent {

std::vector<TokenGroup> cross_encoder_groups() {
  return {{"[CLS]", Dependence::nothing}, {"query", Dependence::query}, {"document", Dependence::pair}};
}

std::vector<TokenGroup> interaction_groups(Derivation::Kind kind, std::int32_t tokens) {
  return {{"query's state", Dependence::nothing},
          {"query", Dependence::query},
          {"candidate", Dependence::candidate},
          {"context", Dependence::candidate, Derivation{kind, kDocument, tokens}}};
}

Views interaction_text_views() {
  constexpr View all{View::Kind::all}, none{};
  return {{}, {none, all, none, none}, {none, none, all, none}, {}};
}

Views interaction_views() {
  constexpr View all{View::Kind::all}, none{};
  return {{none, all, none, none}, {}, {}, {none, all, none, all}};
}

std::vector<TokenGroup> late_interaction_groups() {
  return {{"[CLS]", Dependence::nothing},
          {"query", Dependence::query},
          {"text", Dependence::candidate},
          {"expansion", Dependence::candidate}};
}

Views late_interaction_views(const View& view) {
  const std::vector<View> of_text = {{}, {}, view, {}};
  return {{}, {}, of_text, of_text};
}

Views views_of(const AttentionPattern& pattern) {
  constexpr View all{View::Kind::all};
  const auto if_set = [&](bool sees) { return sees ? all : View{}; };
  const View document = pattern.window ? View{View::Kind::window, *pattern.window} : all;
  return {{all, if_set(pattern.cls_query), if_set(pattern.cls_document)},
          {if_set(pattern.query_cls), all, if_set(pattern.query_document)},
          {if_set(pattern.document_cls), if_set(pattern.document_query), document}};
}

std::vector<float> LinearWeights::bias_to_f32() const {
  return bias.data != nullptr ? bias.to_f32() : std::vector<float>(static_cast<std::size_t>(weight.shape.front()));
}

std::vector<float> NormWeights::beta_to_f32() const {
  return beta.data != nullptr ? beta.to_f32() : std::vector<float>(gamma.elements());
}

std::size_t TensorView::elements() const noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                         [](std::size_t product, std::int64_t n) { return product * static_cast<std::size_t>(n); });
}

std::vector<float> TensorView::to_f32() const {
  std::vector<float> values(elements());
  if (values.empty()) return values;
  if (type == DataType::f32) {
    std::memcpy(values.data(), data, values.size() * sizeof(float));
    return values;
  }
  const auto widen = [&](const auto& to_float) {  // inlined, once per type
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, data + 2 * i, sizeof half);
      values[i] = to_float(half);
    }
  };
  if (type == DataType::f16) {
    widen([](std::uint16_t half) { return from_f16(half); });
  } else {
    widen([](std::uint16_t half) { return from_bf16(half); });
  }
  return values;
}

}  // namespace relucent
