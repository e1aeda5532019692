#pragma once

#include <map>
#include <random>
#include <string>

#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {

/// The tiny BERT as MIR: windows of 8 pieces.
struct TinyMir : TinyCheckpoint {
  TinyMir() {
    config["model_type"] = "mir";
    config["architectures"] = {"MirForSequenceClassification"};
    config["passage_window"] = 8;
    config["passage_stride"] = 6;
    config["max_document_tokens"] = 60;
    config["max_query_tokens"] = 10;
    config["psg_token_id"] = 2;
    config["snt_token_id"] = 3;
    tensors.erase("bert.pooler.dense.weight");
    tensors.erase("bert.pooler.dense.bias");
    tensors.erase("classifier.bias");
    std::mt19937 random(7);
    const std::map<std::string, TinyTensor> bert = tensors;
    const std::string layers = "bert.encoder.layer.";
    for (const auto& [name, tensor] : bert) {
      if (!name.starts_with(layers)) continue;
      add_f32(random, name.substr(0, layers.size() + 2) + "inter." + name.substr(layers.size() + 2), tensor.shape);
    }
    add_f32(random, "bert.encoder.layer.0.combine.weight", {8, 16});
    for (const std::string view : {"passage", "sentence", "token"}) {
      const std::string name = "aggregation." + view + ".";
      add_f32(random, name + "pooling_vector", {8});
      for (const char* part : {"query", "key", "value", "output"}) add_f32(random, name + part + ".weight", {8, 8});
    }
    add_f32(random, "aggregation.combine.weight", {8, 24});
  }
};

}  // namespace relucent::testing
