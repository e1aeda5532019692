#include "model/families/attention_keys.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace relucent {
namespace {

struct Flag {
  std::string_view key;
  bool AttentionPattern::*value;
};
constexpr std::array<Flag, 6> kFlags{{{"cls_query_attention", &AttentionPattern::cls_query},
                                      {"cls_doc_attention", &AttentionPattern::cls_document},
                                      {"query_cls_attention", &AttentionPattern::query_cls},
                                      {"query_doc_attention", &AttentionPattern::query_document},
                                      {"doc_cls_attention", &AttentionPattern::document_cls},
                                      {"doc_query_attention", &AttentionPattern::document_query}}};
constexpr std::string_view kWindowKey = "attention_window_size";

}  // namespace

AttentionPattern read_attention_pattern(const JsonFile& config) {
  AttentionPattern pattern;
  for (const Flag& flag : kFlags) pattern.*flag.value = config.boolean(flag.key).value_or(true);
  if (const auto window = config.integer(kWindowKey, 0, std::numeric_limits<std::int32_t>::max())) {
    pattern.window = static_cast<std::int32_t>(*window);
  }
  return pattern;
}

void write_attention_pattern(const AttentionPattern& pattern, JsonFile& config) {
  for (const Flag& flag : kFlags) config.object()[flag.key] = pattern.*flag.value;
  config.object()[kWindowKey] = nullptr;
  if (pattern.window) config.object()[kWindowKey] = *pattern.window;
}

bool is_attention_pattern_key(std::string_view key) {
  return key == kWindowKey ||
         std::any_of(kFlags.begin(), kFlags.end(), [&](const Flag& flag) { return flag.key == key; });
}

bool sounds_like_attention(std::string_view key) {
  const auto holds = [&](std::string_view part) { return key.find(part) != key.npos; };
  constexpr std::array<std::string_view, 9> parts{"attention", "attn",   "window",   "sparse",    "global_token",
                                                  "rope",      "rotary", "position", "token_type"};
  if (std::any_of(parts.begin(), parts.end(), holds)) return true;
  // A misspelt flag still names two groups of tokens: "doc_cls_atention".
  constexpr std::array<std::string_view, 4> groups{"cls_", "query_", "doc_", "sentence_"};
  return std::count_if(groups.begin(), groups.end(), holds) >= 2;
}

}  // namespace relucent
