#include "model/checkpoint/stated_activation.h"

#include <fmt/core.h>

#include <optional>

#include "model/checkpoint/sentence_transformers.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kObject = "sentence_transformers", kActivationKey = "activation_fn",
                           kOldKey = "sbert_ce_default_activation_function";

/// Whether `value` names a function that counts; then it becomes the result's.
bool take(const OrderedJson* value, const fs::path& path, std::string_view key, StatedActivation& result) {
  if (value == nullptr || value->is_null()) return false;
  const std::string place = fmt::format("{}, key {}", path.filename().string(), key);
  if (!value->is_string()) {
    result.warnings.push_back(place + " is not the name of a function");
    return false;
  }
  const auto name = value->get<std::string>();
  if (!name.starts_with("torch.")) {
    result.warnings.push_back(
        fmt::format("{} is {}, which sentence-transformers does not use either unless told to trust it", place, name));
    return false;
  }
  result.source = place;
  result.name = name.ends_with(".Identity") ? "identity" : name.ends_with(".Sigmoid") ? "sigmoid" : name;
  if (result.name == name) {
    result.warnings.push_back(
        fmt::format("{} is {}: scores are logits, to which Relucent cannot apply it", place, name));
  }
  return true;
}

}  // namespace

StatedActivation read_stated_activation(const fs::path& folder, const JsonFile& config) {
  StatedActivation result;
  try {
    const auto own = counting_configuration(folder);
    if (own && take(own->find(kActivationKey), own->path(), kActivationKey, result)) return result;
  } catch (const Error& error) {
    result.warnings.emplace_back(error.what());
  }
  const OrderedJson* object = config.find(kObject);
  if (object != nullptr && object->is_object() && object->contains(std::string(kActivationKey))) {
    const std::string key = fmt::format("{}.{}", kObject, kActivationKey);
    if (take(&object->at(std::string(kActivationKey)), config.path(), key, result)) return result;
  } else if (take(config.find(kOldKey), config.path(), kOldKey, result)) {
    return result;
  }
  result.name = "sigmoid";
  result.source = "default";
  return result;
}

bool is_activation_key(std::string_view key) { return key == kObject || key == kOldKey; }

}  // namespace relucent
