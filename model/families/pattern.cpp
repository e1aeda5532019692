#include "model/families/pattern.h"

#include <algorithm>

#include "model/families/attention_keys.h"
#include "model/families/families.h"
#include "relucent/error.h"

namespace relucent {
namespace {

// The windows with which the patterns were published: Longformer's and QDS's in the comparison of the sparse
// cross-encoder's authors (arXiv 2312.17649), and its own.
constexpr std::int32_t kUsualWindow = 64, kSparseWindow = 4;

AttentionPattern pattern_named(PatternChoice name, std::optional<std::int32_t> window) {
  AttentionPattern pattern;
  switch (name) {
    case PatternChoice::checkpoint:
    case PatternChoice::full:
    case PatternChoice::local: break;
    case PatternChoice::longformer:
    case PatternChoice::qds: pattern.window = window.value_or(kUsualWindow); break;
    case PatternChoice::sparse:
      pattern.window = window.value_or(kSparseWindow);
      pattern.query_cls = pattern.query_document = false;
      break;
  }
  return pattern;
}

}  // namespace

Views within_window(Views views, std::int32_t window) {
  for (auto& of_group : views) {
    for (View& view : of_group) {
      if (view.kind == View::Kind::all) view = {View::Kind::window, window};
      if (view.kind == View::Kind::window) view.window = std::min(view.window, window);
    }
  }
  return views;
}

void add_sentences(EncoderDescription& description) {
  description.groups.push_back({"sentences", description.groups[kDocument].input});
  description.stacks.front().groups.push_back(kSentences);
  for (Layer& layer : description.stacks.front().layers) {
    Views& views = layer.attentions.front().views;
    // As the document's, but without a window.
    for (auto& of_group : views) of_group.push_back(of_group[kDocument]);
    views.push_back(views[kDocument]);
    for (const auto& [from, to] :
         {std::pair(kDocument, kSentences), std::pair(kSentences, kDocument), std::pair(kSentences, kSentences)}) {
      views[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = {View::Kind::all};
    }
  }
}

FamilyConfiguration with_pattern(const JsonFile& config, PatternChoice pattern, std::optional<std::int32_t> window) {
  JsonFile changed = config;
  if (!window) window = read_attention_pattern(config).window;
  write_attention_pattern(pattern_named(pattern, window), changed);
  const Family& family = find_family(config);
  if (&family == &kDeformerFamily) {
    throw Error(ErrorKind::usage, config.path().string(), "the layers of a Deformer have patterns of their own",
                "use pattern = \"checkpoint\"");
  }
  FamilyConfiguration result = family.read_configuration(changed);
  if (pattern == PatternChoice::local) {
    for (Layer& layer : result.description.stacks.front().layers) {
      Views& views = layer.attentions.front().views;
      views = within_window(std::move(views), window.value_or(kUsualWindow));
    }
  }
  if (pattern != PatternChoice::qds) return result;
  if (result.description.stacks.size() > 1) {
    throw Error(ErrorKind::usage, config.path().string(), "a model with a decoder cannot have the pattern qds",
                "use pattern = \"full\", \"local\", \"longformer\" or \"sparse\"");
  }
  if (result.description.groups.size() != static_cast<std::size_t>(kSentences)) {
    throw Error(ErrorKind::usage, config.path().string(),
                "the pattern qds is only for models whose tokens are [CLS], the query and the document",
                "use pattern = \"checkpoint\"");
  }
  add_sentences(result.description);
  return result;
}

}  // namespace relucent
