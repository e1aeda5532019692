#include "model/cross_encoder_options.h"

#include <fmt/core.h>

#include "relucent/error.h"

namespace relucent {

void bad_option(const std::string& problem, const std::string& remedy) {
  throw Error(ErrorKind::usage, "cross-encoder options", problem, remedy);
}

void check_options(const CrossEncoderOptions& options, const Checkpoint& checkpoint) {
  const std::int32_t least = checkpoint.shortest_input(), most = checkpoint.configuration.max_tokens;
  if (options.max_length != 0 && (options.max_length < least || options.max_length > most)) {
    bad_option(fmt::format("max_length {} is out of range", options.max_length),
               fmt::format("give 0 or a number from {} to {}, the longest input of {}", least, most,
                           checkpoint.folder.string()));
  }
  if (options.max_query_length < 0) {
    bad_option(fmt::format("max_query_length {} is out of range", options.max_query_length),
               "give 1 or more word pieces, or 0 for the checkpoint's limit");
  }
  if (options.attention_window && *options.attention_window < -1) {
    bad_option(fmt::format("attention_window {} is out of range", *options.attention_window),
               "give 0 or more tokens, or -1 for no window");
  }
  const bool wants_window = options.pattern != PatternChoice::full;
  if (options.pattern != PatternChoice::checkpoint && options.attention_window &&
      (*options.attention_window >= 0) != wants_window) {
    bad_option(fmt::format("attention_window {} contradicts the pattern", *options.attention_window),
               "give no window with the pattern full, and 0 or more tokens with any other one");
  }
  if (checkpoint.configuration.input.chat &&
      (options.attention_window || options.pattern != PatternChoice::checkpoint)) {
    bad_option("attention_window and pattern do not apply to a decoder, whose tokens see those before them",
               "remove both");
  }
  if (checkpoint.configuration.input.most_candidates > 0) {
    if (options.attention_window || options.pattern != PatternChoice::checkpoint) {
      bad_option("attention_window and pattern do not apply to a Set-Encoder, whose candidates see each other",
                 "remove both");
    }
    if (options.long_documents != LongDocuments::truncate) {
      bad_option("long_documents does not apply to a Set-Encoder: a document's chunks would be candidates of their own",
                 "remove it");
    }
  }
  if (checkpoint.configuration.input.split) {
    const TextReading usual;
    const auto refuse = [&](bool given, const char* key) {
      if (given)
        bad_option(fmt::format("{} does not apply to a PARADE, whose config.json states its passages", key),
                   "remove it");
    };
    refuse(options.max_length != usual.max_length, "max_length");
    refuse(options.max_query_length != usual.max_query_length, "max_query_length");
    refuse(options.attention_window.has_value(), "attention_window");
    refuse(options.pattern != usual.pattern, "pattern");
    refuse(options.long_documents != usual.long_documents, "long_documents");
  }
  if (checkpoint.configuration.input.apart &&
      (options.attention_window || options.pattern != PatternChoice::checkpoint)) {
    bad_option("attention_window and pattern do not apply to a Deformer, whose layers have patterns of their own",
               "remove both");
  }
  if (options.chunk < 1) {
    bad_option(fmt::format("chunk {} is out of range", options.chunk), "give 1 or more word pieces");
  }
  if (options.max_chunks < 0) {
    bad_option(fmt::format("max_chunks {} is out of range", options.max_chunks),
               "give 1 or more chunks, or 0 for all of them");
  }
  if (options.top_chunks < 1) {
    bad_option(fmt::format("top_chunks {} is out of range", options.top_chunks), "give 1 or more chunks");
  }
  if (options.stride < 1 || options.stride > options.chunk) {
    bad_option(fmt::format("stride {} is out of range", options.stride),
               fmt::format("give 1 to {} word pieces, so that chunks leave no gaps", options.chunk));
  }
}

}  // namespace relucent
