#pragma once

#include <filesystem>

#include "model/tokenizer/tokenizer_json.h"

namespace relucent {

/// Reads a *.model of SentencePiece. A Unigram model becomes the tokenizer into which Hugging Face's transformers (5)
/// convert it for the classes of XLM-RoBERTa, CamemBERT and T5; for all others the SentencePiece library makes the ids.
/// XLM-RoBERTa's ids are fairseq's: <s>, <pad>, </s> and <unk>, then the model's pieces without its own first three.
/// Throws Error: `io`, `invalid_data` naming the file and the place, `unsupported`.
JsonTokenizer read_sentencepiece(const std::filesystem::path& path, TokenizerContext context);

}  // namespace relucent
