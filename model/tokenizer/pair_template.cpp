#include "model/tokenizer/pair_template.h"

#include <fmt/core.h>

namespace relucent {

std::string special_token(const JsonFile* settings, const char* key, const char* usual) {
  const auto* value = settings == nullptr ? nullptr : settings->find(key);
  if (value == nullptr) return usual;
  if (value->is_object() && value->contains("content") && value->at("content").is_string()) {
    return value->at("content").get<std::string>();
  }
  if (!value->is_string()) settings->fail(key, fmt::format("is {}, which is not a token", value->dump()));
  return value->get<std::string>();
}

PairTemplate usual_pair_template(std::string_view model_type, const JsonFile* settings, const FindEntry& find) {
  const auto token = [&](const char* key, const char* usual) { return find(special_token(settings, key, usual)); };
  if (model_type == "t5" || model_type == "mt5" || model_type == "umt5") {
    const std::int32_t end = token("eos_token", "</s>");
    return {{}, {end}, {end}};
  }
  if (model_type == "qwen2" || model_type == "qwen3") return {};  // their prompts name the tokens
  if (model_type == "roberta" || model_type == "xlm-roberta" || model_type == "camembert") {
    const std::int32_t cls = token("cls_token", "<s>"), sep = token("sep_token", "</s>");
    return {{cls}, {sep, sep}, {sep}};
  }
  const std::int32_t cls = token("cls_token", "[CLS]"), sep = token("sep_token", "[SEP]");
  return {{cls}, {sep}, {sep}};
}

}  // namespace relucent
