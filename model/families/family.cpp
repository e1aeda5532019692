#include "model/families/family.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/families/families.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::array kFamilies{
    &kAlibabaGteFamily, &kBertFamily,       &kCamembertFamily, &kLightningColFamily, &kLightningCrossEncoderFamily,
    &kDebertaFamily,    &kDeformerFamily,   &kElectraFamily,   &kGteFamily,          &kMirFamily,
    &kMixEncoderFamily, &kModernBertFamily, &kMonoFamily,      &kParadeFamily,       &kPolyEncoderFamily,
    &kQwen2Family,      &kQwen3Family,      &kRobertaFamily,   &kSetEncoderFamily,   &kSetEncoderElectraFamily,
    &kT5Family,         &kXlmRobertaFamily};
/// These have the model type of their encoder.
constexpr std::array kLateFamilies{&kColbertFamily, &kPylateBertFamily, &kPylateModernBertFamily};

/// Rerankers that people ask for and that are not computed; docs/checkpoints.md has the same list.
struct Unread {
  std::string_view model_type, why;
};
constexpr std::array<Unread, 6> kUnread{
    {{"deberta", "DeBERTa of version 1 has other projections than versions 2 and 3"},
     {"gemma", "BGE's Gemma rerankers scale their embeddings and norms otherwise and have a prompt of their own"},
     {"llama_bidirec", "Nemotron's decoders see later tokens, too"},
     {"minicpm", "BGE's MiniCPM rerankers score by inner layers"},
     {"mt5", "monoT5's mT5 checkpoints answer with other words than true and false"},
     {"qwen2_vl", "jina-reranker-m0 also reads images"}}};

}  // namespace

void set_window(EncoderDescription& description, const View& view) {
  for (Stack& stack : description.stacks) {
    for (Layer& layer : stack.layers) {
      for (Attention& attention : layer.attentions) {
        for (std::size_t from = 0; from < attention.views.size(); ++from) {
          for (std::size_t to = 0; to < attention.views[from].size(); ++to) {
            const bool document = from == to && !within(description.groups[from].input, Dependence::query);
            View& present = attention.views[from][to];
            if (document || present.kind == View::Kind::window) present = view;
          }
        }
      }
    }
  }
}

const Family& find_family(const JsonFile& config) {
  const auto model_type = config.string("model_type");
  if (!model_type) config.fail("model_type", "is missing", "add it or download the file again");
  for (const Family* family : kLateFamilies) {
    if (family->model_type == *model_type && is_late_interaction(config, *family)) return *family;
  }
  for (const Family* family : kFamilies) {
    if (family->model_type == *model_type) return *family;
  }
  const auto unread = std::ranges::find(kUnread, *model_type, &Unread::model_type);
  const std::string why = unread == kUnread.end() ? "" : ": " + std::string(unread->why);
  throw Error(ErrorKind::unsupported, config.path().string() + ", key model_type",
              "unknown model type " + *model_type + why,
              "use a checkpoint of one of these types: " +
                  join(kFamilies, ", ", [](const Family* family) { return family->model_type; }));
}

}  // namespace relucent
