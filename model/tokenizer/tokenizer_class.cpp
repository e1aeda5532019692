#include "model/tokenizer/tokenizer_class.h"

#include <algorithm>
#include <array>

namespace relucent {
namespace {

using Kind = TokenizerClass::Kind;
using Json = nlohmann::json;

struct Known {
  std::string_view name;
  Kind kind;
  bool types;
};
constexpr std::array<Known, 8> kKnown{{{"BertTokenizer", Kind::bert, true},
                                       {"ElectraTokenizer", Kind::bert, true},
                                       {"DistilBertTokenizer", Kind::bert, false},
                                       {"DebertaV2Tokenizer", Kind::file, true},
                                       {"RobertaTokenizer", Kind::roberta, false},
                                       {"XLMRobertaTokenizer", Kind::xlm_roberta, false},
                                       {"CamembertTokenizer", Kind::camembert, false},
                                       {"T5Tokenizer", Kind::t5, false}}};

/// Empty for a family whose tokenizer.json is always read as it is, and whose tokens have no types.
std::string_view usual_class(std::string_view model_type) {
  constexpr std::array kOfBert{"bert",   "electra", "mono", "cross-encoder", "set-encoder", "set-encoder-electra",
                               "parade", "deformer"};
  if (std::ranges::find(kOfBert, model_type) != kOfBert.end()) return "BertTokenizer";
  if (model_type == "roberta") return "RobertaTokenizer";
  if (model_type == "xlm-roberta" || model_type == "new" || model_type == "gte") return "XLMRobertaTokenizer";
  if (model_type == "camembert") return "CamembertTokenizer";
  if (model_type == "t5") return "T5Tokenizer";
  if (model_type == "deberta-v2") return "DebertaV2Tokenizer";
  return {};
}

bool setting(const JsonFile* settings, const char* key, bool usual) {
  return settings == nullptr ? usual : settings->boolean(key).value_or(usual);
}

/// The table of replacements of a SentencePiece model that tokenizer.json holds, alone or first in a list.
Json charsmap_of(const Json& document) {
  const auto found = document.find("normalizer");
  if (found == document.end() || !found->is_object()) return nullptr;
  const Json only = Json::array({*found});
  const Json& all =
      found->value("type", Json()) == "Sequence" && found->contains("normalizers") ? found->at("normalizers") : only;
  for (const Json& each : all) {
    if (each.is_object() && each.value("type", Json()) == "Precompiled") return each;
  }
  return nullptr;
}

Json words_with_marks(bool prefix_space) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "WhitespaceSplit"}},
            {{"type", "Metaspace"},
             {"replacement", "\xE2\x96\x81"},
             {"prepend_scheme", prefix_space ? "always" : "never"},
             {"split", true}}}}};
}

}  // namespace

TokenizerClass find_tokenizer_class(const JsonFile* settings, std::string_view stated, std::string_view model_type) {
  std::string name = settings == nullptr ? "" : settings->string("tokenizer_class").value_or("");
  if (name.empty()) name = stated;
  // Lightning IR's own class builds on that of the backbone.
  if (name == "CrossEncoderTokenizer" || name == "SetEncoderTokenizer") {
    name = settings == nullptr ? "" : settings->string("backbone_tokenizer_class").value_or("");
  }
  constexpr std::string_view fast = "Fast";
  if (name.ends_with(fast)) name.resize(name.size() - fast.size());
  const std::string_view usual = usual_class(model_type);
  if (name.empty()) name = usual;
  TokenizerClass result{Kind::file, false};
  const auto known = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& each) { return each.name == name; });
  if (known != kKnown.end() && !usual.empty()) result = {known->kind, known->types};
  const auto* inputs = settings == nullptr ? nullptr : settings->find("model_input_names");
  if (inputs == nullptr) return result;
  if (!inputs->is_array()) settings->fail("model_input_names", "is not a list");
  result.types = std::find(inputs->begin(), inputs->end(), "token_type_ids") != inputs->end();
  return result;
}

void apply_class(Kind kind, const JsonFile* settings, Json& document) {
  if (kind == Kind::file || !document.is_object() || !document.contains("model")) return;
  Json& model = document["model"];
  if (!model.is_object()) return;
  switch (kind) {
    case Kind::file: return;
    case Kind::bert: {
      const bool lowercase = setting(settings, "do_lower_case", true);
      document["normalizer"] = {{"type", "BertNormalizer"},
                                {"clean_text", true},
                                {"handle_chinese_chars", setting(settings, "tokenize_chinese_chars", true)},
                                {"strip_accents", setting(settings, "strip_accents", lowercase)},
                                {"lowercase", lowercase}};
      document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
      model["unk_token"] = special_token(settings, "unk_token", "[UNK]");
      model["continuing_subword_prefix"] = "##";
      model["max_input_chars_per_word"] = 100U;
      break;
    }
    case Kind::roberta:
      document["normalizer"] = nullptr;
      document["pre_tokenizer"] = {{"type", "ByteLevel"},
                                   {"add_prefix_space", setting(settings, "add_prefix_space", false)},
                                   {"trim_offsets", true},
                                   {"use_regex", true}};
      for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                              "byte_fallback", "ignore_merges"}) {
        model.erase(key);
      }
      break;
    case Kind::xlm_roberta:
    case Kind::camembert:
    case Kind::t5:
      document["normalizer"] = charsmap_of(document);
      document["pre_tokenizer"] = words_with_marks(kind == Kind::t5 || setting(settings, "add_prefix_space", true));
      model["byte_fallback"] = false;
      if (kind != Kind::camembert) model["unk_id"] = kind == Kind::t5 ? 2U : 3U;
      break;
  }
}

PairTemplate class_template(Kind kind, const JsonFile* settings, const FindEntry& find) {
  const auto token = [&](const char* key, const char* usual) { return find(special_token(settings, key, usual)); };
  PairTemplate pair;
  switch (kind) {
    case Kind::file: break;
    case Kind::bert: {
      const std::int32_t sep = token("sep_token", "[SEP]");
      pair = {{token("cls_token", "[CLS]")}, {sep}, {sep}};
      break;
    }
    case Kind::roberta: {
      const std::int32_t sep = token("sep_token", "</s>");
      pair = {{token("cls_token", "<s>")}, {sep, sep}, {sep}};
      break;
    }
    case Kind::xlm_roberta:
    case Kind::camembert: {
      const std::int32_t end = token("eos_token", "</s>");
      pair = {{token("bos_token", "<s>")}, {end, end}, {end}};
      break;
    }
    case Kind::t5: {
      const std::int32_t end = token("eos_token", "</s>");
      pair = {{}, {end}, {end}};
      break;
    }
  }
  return pair;
}

}  // namespace relucent
