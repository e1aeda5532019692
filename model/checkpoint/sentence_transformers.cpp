#include "model/checkpoint/sentence_transformers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr const char *kModules = "modules.json", *kModelSettings = "config_sentence_transformers.json";

[[noreturn]] void refuse(const fs::path& path, std::string_view key, const std::string& problem) {
  throw Error(ErrorKind::unsupported, key.empty() ? path.string() : fmt::format("{}, key {}", path.string(), key),
              problem, "use a checkpoint without it; if its scores do not depend on it, remove it");
}

fs::path module_settings(const fs::path& folder) {
  for (const char* name : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const fs::path path = folder / fmt::format("sentence_{}_config.json", name);
    if (fs::exists(path)) return path;
  }
  refuse(folder / "sentence_bert_config.json", "", "is missing, which belongs to modules.json");
}

/// The arguments of the model's class: those of its precision and speed change nothing.
void check_model_arguments(const JsonFile& file, const std::string& key, const OrderedJson& value) {
  constexpr std::array<std::string_view, 3> kHarmless{"dtype", "torch_dtype", "attn_implementation"};
  if (!value.is_object()) file.fail(key, "is not an object");
  for (const auto& [name, argument] : value.items()) {
    if (is_off(argument) || std::find(kHarmless.begin(), kHarmless.end(), name) != kHarmless.end()) continue;
    refuse(file.path(), fmt::format("{}.{}", key, name), "is not supported");
  }
}

/// The settings of the Transformer, alone or with a head of further modules. What is not listed here could change the
/// input.
void read_transformer(const JsonFile& file, bool alone, SentenceTransformersFiles& result) {
  const std::string task = alone ? "sequence-classification" : "feature-extraction";
  if (file.string("transformer_task").value_or("feature-extraction") != task) {
    refuse(file.path(), "transformer_task", "is not " + task);
  }
  constexpr std::int64_t kMostTokens = 1 << 30;
  const auto take_length = [&](std::int64_t length) { result.max_length = static_cast<std::int32_t>(length); };
  if (const auto length = file.integer("max_seq_length", 1, kMostTokens)) take_length(*length);
  for (const auto& [key, value] : file.object().items()) {
    // The lengths of queries and documents are those of other models' inputs.
    constexpr std::array<std::string_view, 5> kNeutral{"transformer_task", "max_seq_length", "unpad_inputs",
                                                       "query_length", "document_length"};
    if (std::find(kNeutral.begin(), kNeutral.end(), key) != kNeutral.end() || is_off(value)) continue;
    if (key == "modality_config") {
      const OrderedJson wanted = {
          {"text", {{"method", "forward"}, {"method_output_name", alone ? "logits" : "last_hidden_state"}}}};
      if (value != wanted) refuse(file.path(), key, alone ? "is not that of a text's logits" : "is not that of states");
    } else if (key == "module_output_name") {
      const std::string output = alone ? "scores" : "token_embeddings";
      if (value != output) refuse(file.path(), key, "is not " + output);
    } else if (key == "model_args" || key == "model_kwargs") {
      check_model_arguments(file, key, value);
    } else if ((key == "tokenizer_args" || key == "processor_kwargs") && value.is_object() && value.size() == 1 &&
               value.contains("model_max_length") && value["model_max_length"].is_number_unsigned() &&
               value["model_max_length"] > 0 && value["model_max_length"] <= kMostTokens) {
      take_length(value["model_max_length"].get<std::int64_t>());
    } else {
      refuse(file.path(), key, "is not supported");
    }
  }
}

void read_prompt(const JsonFile& file, SentenceTransformersFiles& result) {
  const auto name = file.string("default_prompt_name");
  if (!name) return;
  const auto* prompts = file.find("prompts");
  if (prompts == nullptr || !prompts->is_object() || !prompts->contains(*name)) {
    file.fail("default_prompt_name", fmt::format("is {}, but prompts does not have it", *name));
  }
  const OrderedJson& prompt = (*prompts)[*name];
  if (prompt.is_null()) return;
  if (!prompt.is_string()) file.fail("prompts", fmt::format("{} is not a text", *name));
  result.prompt = prompt.get<std::string>();
}

/// Where texts become messages, a template of the tokenizer puts words around them.
void refuse_chat_template(const fs::path& folder) {
  const std::string problem = "puts the texts into a chat, which is not supported";
  if (const fs::path path = folder / "chat_template.jinja"; fs::exists(path)) refuse(path, "", problem);
  const fs::path path = folder / "tokenizer_config.json";
  if (!fs::exists(path)) return;
  const JsonFile settings = JsonFile::read(path);
  const auto* value = settings.find("chat_template");
  if (value != nullptr && !value->empty()) refuse(path, "chat_template", problem);
}

}  // namespace

std::optional<JsonFile> counting_configuration(const fs::path& folder) {
  const fs::path path = folder / kModelSettings;
  if (!fs::exists(folder / kModules) || !fs::exists(path)) return std::nullopt;
  JsonFile file = JsonFile::read(path);
  if (file.string("model_type").value_or("SentenceTransformer") != "CrossEncoder") return std::nullopt;
  return file;
}

bool is_embedding_model(const JsonFile& config) {
  const fs::path folder = config.path().parent_path(), settings = folder / kModelSettings;
  const OrderedJson* names = config.find("architectures");
  if (!fs::exists(folder / kModules) || names == nullptr || !names->is_array()) return false;
  for (const OrderedJson& name : *names) {
    // "BertModel", "ModernBertForMaskedLM", but not "BertForSequenceClassification" or "Qwen3ForCausalLM".
    if (!name.is_string() ||
        !(name.get<std::string>().ends_with("Model") || name.get<std::string>().ends_with("ForMaskedLM"))) {
      return false;
    }
  }
  return !fs::exists(settings) ||
         JsonFile::read(settings).string("model_type").value_or("SentenceTransformer") == "SentenceTransformer";
}

EmbeddingFiles read_embedding_files(const fs::path& folder, std::int32_t hidden_size) {
  EmbeddingFiles files;
  files.modules = read_embedding_modules(folder, hidden_size);
  SentenceTransformersFiles transformer;
  read_transformer(JsonFile::read(module_settings(folder)), false, transformer);
  files.max_length = transformer.max_length;
  if (!fs::exists(folder / kModelSettings)) return files;
  const JsonFile settings = JsonFile::read(folder / kModelSettings);
  const std::string similarity = settings.string("similarity_fn_name").value_or("cosine");
  if (similarity != "cosine" && similarity != "dot") {
    refuse(settings.path(), "similarity_fn_name", "unknown similarity " + similarity);
  }
  files.cosine = similarity == "cosine";
  // As encode_query() and encode_document() choose.
  read_prompt(settings, transformer);
  const OrderedJson* prompts = settings.find("prompts");
  const auto prompt = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const bool stated = prompts != nullptr && prompts->is_object() && prompts->contains(name);
      if (stated && (*prompts)[name].is_string()) return (*prompts)[name].get<std::string>();
    }
    return transformer.prompt;
  };
  files.query_prompt = prompt({"query"});
  files.document_prompt = prompt({"document", "passage", "corpus"});
  return files;
}

SentenceTransformersFiles read_sentence_transformers_files(const fs::path& folder) {
  SentenceTransformersFiles result;
  result.config = counting_configuration(folder);
  if (!result.config) {
    refuse_chat_template(folder);
    return result;
  }
  result.modules = read_modules(folder / kModules);
  read_transformer(JsonFile::read(module_settings(folder)), result.modules.size() == 1, result);
  read_prompt(*result.config, result);
  return result;
}

}  // namespace relucent
