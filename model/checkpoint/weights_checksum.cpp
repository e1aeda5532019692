#include "model/checkpoint/weights_checksum.h"

namespace relucent {

void add_tensor(Checksum& sum, const TensorView& tensor) {
  if (tensor.data == nullptr) return;
  const auto type = static_cast<char>(tensor.type);
  sum.add({&type, 1});
  sum.add({reinterpret_cast<const char*>(tensor.data), tensor.elements() * element_size(tensor.type)});
}

void add_linear(Checksum& sum, const LinearWeights& linear) {
  add_tensor(sum, linear.weight);
  add_tensor(sum, linear.bias);
}

void add_norm(Checksum& sum, const NormWeights& norm) {
  add_tensor(sum, norm.gamma);
  add_tensor(sum, norm.beta);
}

void add_embeddings(Checksum& sum, const EncoderWeights& weights) {
  for (const TensorView* table :
       {&weights.word_embeddings, &weights.position_embeddings, &weights.token_type_embeddings}) {
    add_tensor(sum, *table);
  }
  add_norm(sum, weights.embedding_norm);
  add_linear(sum, weights.embedding_projection);
}

void add_layer(Checksum& sum, const LayerWeights& layer) {
  const AttentionWeights& of = layer.attentions.front();
  const FeedForwardWeights& feed_forward = layer.feed_forward;
  for (const LinearWeights* linear :
       {&of.query, &of.key, &of.value, &of.output, &feed_forward.in, &feed_forward.gate, &feed_forward.out}) {
    add_linear(sum, *linear);
  }
  add_norm(sum, of.norm);
  add_norm(sum, feed_forward.norm);
}

}  // namespace relucent
