#include "model/tokenizer/bert_pipeline.h"

#include <fmt/core.h>

#include "model/tokenizer/fingerprint.h"
#include "model/tokenizer/pipeline.h"
#include "model/tokenizer/wordpiece_model.h"

namespace relucent {

std::unique_ptr<const Tokenizer> make_bert_pipeline(const WordPieceVocabulary& vocabulary, BertSettings settings) {
  constexpr std::size_t kMaxWordLength = 100;  // characters
  PipelineParts parts;
  parts.normalizer = make_bert_normalizer(true, settings.chinese, settings.strip_accents, settings.lowercase);
  parts.pre_tokenizer = make_bert_pre_tokenizer();
  parts.model = std::make_unique<WordPieceModel>(vocabulary.entries, vocabulary.unknown, "##", kMaxWordLength);
  parts.pair = {{vocabulary.cls}, {vocabulary.sep}, {vocabulary.sep}, vocabulary.sentence};
  parts.vocabulary_size = static_cast<std::int32_t>(vocabulary.entries.size());
  Fingerprint fingerprint;
  fingerprint.add(fmt::format("WordPiece 1, {} {} {} {}", settings.chinese, settings.strip_accents, settings.lowercase,
                              vocabulary.unknown));
  for (const std::string& entry : vocabulary.entries) fingerprint.add(entry);
  parts.fingerprint = fingerprint.value();
  parts.summary = fmt::format("WordPiece, {} entries, {} ({})", vocabulary.entries.size(),
                              settings.lowercase ? "lower-cased" : "cased", vocabulary.source);
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace relucent
