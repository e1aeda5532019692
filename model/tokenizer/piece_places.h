#pragma once

#include <string_view>

#include "relucent/model/tokenizer.h"
#include "relucent/stop.h"
#include "relucent/text_range.h"

namespace relucent {

/// The bytes of `text` (UTF-8; invalid bytes count as U+FFFD) that the tokenizer turns into `pieces` of it, without
/// white space at both ends. Where a range begins or ends inside a word, the word is in it as a whole: a place is used
/// only if the text before and after it, tokenized one by one, gives the same pieces as both together. Where a
/// tokenizer has no such places nearby (BPE without a pre-tokenizer; SentencePiece in a text without spaces), the range
/// may have some words more at both ends. Empty if there are no such pieces. Takes a few times as long as
/// tokenizing the text up to the end of the range. Throws Error when `stop` is due.
TextRange place_of_pieces(const Tokenizer& tokenizer, std::string_view text, const PieceRange& pieces,
                          const StopSignal& stop);

}  // namespace relucent
