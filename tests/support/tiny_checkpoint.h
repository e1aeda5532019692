#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace relucent::testing {

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

struct TinyTensor {
  std::string type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

/// A tensor of F32 as one of F64.
inline TinyTensor widened(const TinyTensor& tensor) {
  TinyTensor wide{"F64", tensor.shape, {}};
  for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
    const double same = value;
    wide.bytes.append(reinterpret_cast<const char*>(&same), sizeof same);
  }
  return wide;
}

/// A safetensors file's bytes, written apart from the library's own writer.
inline std::string safetensors_bytes(const std::map<std::string, TinyTensor>& tensors) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    data += tensor.bytes;
    header[name] = {{"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string json = header.dump();
  std::string length(8, '\0');
  const std::uint64_t size = json.size();
  std::memcpy(length.data(), &size, sizeof size);  // little-endian, as the machine
  return length + json + data;
}

/// A whole random BERT cross-encoder of a few kilobytes: hidden 8, 2 heads, 2 layers, 64 positions, and a
/// vocabulary of every lower-case letter as a word and as a continuation. Change any part, then write() it.
struct TinyCheckpoint {
  nlohmann::json config, tokenizer_config;  ///< tokenizer_config null: no such file
  std::vector<std::string> vocabulary;
  std::map<std::string, TinyTensor> tensors;

  explicit TinyCheckpoint(unsigned seed = 1) {
    vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (char c = 'a'; c <= 'z'; ++c) vocabulary.push_back({c});
    for (char c = 'a'; c <= 'z'; ++c) vocabulary.push_back({'#', '#', c});
    config = {{"model_type", "bert"},
              {"architectures", {"BertForSequenceClassification"}},
              {"vocab_size", vocabulary.size()},
              {"hidden_size", 8},
              {"num_hidden_layers", 2},
              {"num_attention_heads", 2},
              {"intermediate_size", 12},
              {"hidden_act", "gelu"},
              {"layer_norm_eps", 1e-12},
              {"max_position_embeddings", 64},
              {"type_vocab_size", 2},
              {"num_labels", 1}};
    tokenizer_config = {{"do_lower_case", true}, {"model_max_length", 64}};
    std::mt19937 random(seed);
    const auto add = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
      add_f32(random, name, shape);
    };
    const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in) {
      add(name + ".weight", {out, in});
      add(name + ".bias", {out});
    };
    const auto norm = [&](const std::string& name) {
      add(name + ".weight", {8});
      add(name + ".bias", {8});
    };
    add("bert.embeddings.word_embeddings.weight", {static_cast<std::int64_t>(vocabulary.size()), 8});
    add("bert.embeddings.position_embeddings.weight", {64, 8});
    add("bert.embeddings.token_type_embeddings.weight", {2, 8});
    norm("bert.embeddings.LayerNorm");
    for (const char* i : {"0", "1"}) {
      const std::string layer = std::string("bert.encoder.layer.") + i + ".";
      for (const char* part :
           {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"}) {
        linear(layer + part, 8, 8);
      }
      norm(layer + "attention.output.LayerNorm");
      linear(layer + "intermediate.dense", 12, 8);
      linear(layer + "output.dense", 8, 12);
      norm(layer + "output.LayerNorm");
    }
    linear("bert.pooler.dense", 8, 8);
    linear("classifier", 1, 8);
  }

  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    write_file(folder / "config.json", config.dump(1));
    if (!tokenizer_config.is_null()) write_file(folder / "tokenizer_config.json", tokenizer_config.dump(1));
    std::string lines;
    for (const std::string& entry : vocabulary) lines += entry + "\n";
    write_file(folder / "vocab.txt", lines);
    write_file(folder / "model.safetensors", safetensors_bytes(tensors));
  }

  void add_f32(std::mt19937& random, const std::string& name, const std::vector<std::int64_t>& shape) {
    std::size_t elements = 1;
    for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
    std::vector<float> values(elements);
    for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
    const auto bytes = std::as_bytes(std::span(values));
    tensors[name] = {"F32", shape, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  }
};

}  // namespace relucent::testing
