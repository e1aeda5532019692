#include "model/families/query_limit.h"

namespace relucent {
namespace {

constexpr std::string_view kKey = "query_length";
constexpr std::string_view kSparseArchitecture = "ListformerModelForSequenceClassification";
constexpr std::int32_t kSparseLimit = 30;  // 32 with [CLS] and [SEP]

}  // namespace

std::int32_t read_query_limit(ConfigReader& config, std::string_view architecture) {
  const bool stated = config.file().object().contains(kKey);
  const bool sparse = architecture == kSparseArchitecture || config.pattern() != AttentionPattern();
  return config.integer_or(kKey, 1, 1 << 20, sparse && !stated ? kSparseLimit : 0);
}

}  // namespace relucent
