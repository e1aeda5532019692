#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/formats/json_file.h"
#include "relucent/kernels/encoder.h"

namespace relucent {

/// How many lower layers of a Deformer compute query and document apart; other families refuse this key.
inline constexpr std::string_view kDeformerLayers = "deformer_layers";

/// Reads config.json and remembers which keys it has read. All functions throw Error naming the file and the key:
/// `invalid_data` for a value of the wrong type or out of range, `unsupported` for one that is not supported.
class ConfigReader {
 public:
  explicit ConfigReader(const JsonFile& config) : config_(config) {}

  /// The first stated architecture that is in `known`; its last one if none is stated.
  std::string architecture(std::span<const std::string_view> known);
  /// Checks that the head has one output: a score, not classes.
  void require_one_label() { labels(1); }
  /// The stated number of the head's outputs, of at most so many; nothing for a model without a head, or if it is not
  /// stated.
  std::optional<std::int32_t> labels(std::int32_t most);
  /// The names of so many outputs, as id2label has them; where it has none, LABEL_0 and so on.
  std::vector<std::string> label_names(std::int32_t labels);
  /// Checks that a key, if present, has the value false or is empty.
  void require_absent(std::string_view key, const std::string& problem, const std::string& remedy);

  /// A required size of at least 1.
  std::int32_t size(std::string_view key, std::int64_t most);
  std::int32_t size_or(std::string_view key, std::int64_t most, std::int32_t usual);
  /// From `least` to `most`.
  std::int32_t integer_or(std::string_view key, std::int64_t least, std::int64_t most, std::int32_t usual);
  bool flag(std::string_view key, bool usual);
  std::string text(std::string_view key, const std::string& usual);
  double positive(std::string_view key, double usual);
  /// The activation that Hugging Face calls by this name: gelu, gelu_new, relu, silu ...
  Activation activation(std::string_view key, const std::string& usual);
  Activation activation_named(std::string_view key, const std::string& name) const;

  /// The flags and the window of a sparse pattern; a missing flag is true, a missing window is unlimited.
  AttentionPattern pattern();

  /// The most word pieces of a query that a cross-encoder was made for; 0: as many as fit. config.json may state it as
  /// `query_length` (null: as many as fit), as Lightning IR does. Without the key it is 30 for sparse checkpoints,
  /// whose authors cut every query there: those of the class ListformerModelForSequenceClassification, and those with a
  /// sparse pattern.
  std::int32_t query_limit(std::string_view architecture);

  /// Heads that share `width` evenly.
  Attention attention(std::string_view heads_key, std::int32_t width);

  /// Null if the key is absent or null.
  const nlohmann::ordered_json* find(std::string_view key);

  /// Keys that were not read: those that may change scores are refused, the others returned.
  std::vector<std::string> unread_keys() const;

  const JsonFile& file() const noexcept { return config_; }
  [[noreturn]] void unsupported(std::string_view key, const std::string& problem, const std::string& remedy) const {
    config_.unsupported(key, problem, remedy);
  }

 private:
  std::string_view note(std::string_view key);

  const JsonFile& config_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace relucent
