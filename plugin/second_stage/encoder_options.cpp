#include "plugin/second_stage/encoder_options.h"

#include <fmt/core.h>

#include "relucent/error.h"

namespace relucent {

BackendOptions backend_options(const ScorerConfig& config) {
  BackendOptions options;
  options.device = config.device;
  options.precision = config.precision;
  options.threads = config.threads;
  return options;
}

void refuse_text_keys(const ScorerConfig& config, std::string_view model, std::string_view reads) {
  const auto refuse = [&](const char* key) {
    throw Error(ErrorKind::usage, fmt::format("[rescorer] {}", key), fmt::format("does not apply to {}", model),
                fmt::format("remove the key: {} {}", model, reads));
  };
  if (config.max_length != 0) refuse("max_length");
  if (config.max_query_length != 0) refuse("max_query_length");
  if (!config.instruction.empty()) refuse("instruction");
  if (config.attention_window) refuse("attention_window");
  if (config.pattern != PatternChoice::checkpoint) refuse("pattern");
  if (config.long_documents != LongDocuments::truncate) refuse("long_documents");
}

}  // namespace relucent
