#pragma once

#include <memory>

#include "model/tokenizer/wordpiece.h"
#include "relucent/model/tokenizer.h"

namespace relucent {

struct BertSettings {
  bool chinese = true, strip_accents = true, lowercase = true;
};

/// BERT's tokenizer with other settings than WordPieceTokenizer has: for cased models.
std::unique_ptr<const Tokenizer> make_bert_pipeline(const WordPieceVocabulary& vocabulary, BertSettings settings);

}  // namespace relucent
