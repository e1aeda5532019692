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

class Reader {
 public:
  StatedActivation read(const fs::path& folder, const JsonFile& config) {
    try {
      const auto own = counting_configuration(folder);
      if (own && take(own->find(kActivationKey), own->path(), kActivationKey)) return result_;
    } catch (const Error& error) {
      result_.warnings.emplace_back(error.what());
    }
    const OrderedJson* object = config.find(kObject);
    if (object != nullptr && object->is_object() && object->contains(std::string(kActivationKey))) {
      if (take(&object->at(std::string(kActivationKey)), config.path(), fmt::format("{}.{}", kObject, kActivationKey)))
        return result_;
    } else if (take(config.find(kOldKey), config.path(), kOldKey)) {
      return result_;
    }
    result_.name = "sigmoid";
    result_.source = "default";
    return result_;
  }

 private:
  bool take(const OrderedJson* value, const fs::path& path, std::string_view key) {
    if (value == nullptr || value->is_null()) return false;
    const std::string place = fmt::format("{}, key {}", path.filename().string(), key);
    if (!value->is_string()) {
      result_.warnings.push_back(place + " is not the name of a function");
      return false;
    }
    const auto name = value->get<std::string>();
    if (!name.starts_with("torch.")) {
      result_.warnings.push_back(fmt::format(
          "{} is {}, which sentence-transformers does not use either unless told to trust it", place, name));
      return false;
    }
    result_.source = place;
    result_.name = name.ends_with(".Identity") ? "identity" : name.ends_with(".Sigmoid") ? "sigmoid" : name;
    if (result_.name == name) {
      result_.warnings.push_back(
          fmt::format("{} is {}: scores are logits, to which Relucent cannot apply it", place, name));
    }
    return true;
  }

  StatedActivation result_;
};

}  // namespace

StatedActivation read_stated_activation(const fs::path& folder, const JsonFile& config) {
  return Reader().read(folder, config);
}

bool is_activation_key(std::string_view key) { return key == kObject || key == kOldKey; }

}  // namespace relucent
