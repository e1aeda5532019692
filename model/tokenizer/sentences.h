#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "relucent/model/tokenizer.h"
#include "relucent/stop.h"
#include "relucent/text_range.h"

namespace relucent {

/// A text's sentences by the Unicode rules (UAX #29, as ICU applies them without a language). White space between two
/// sentences belongs to the second. A sentence of more than 32 KiB is cut there, so that the clock is looked at.
class SentenceReader {
 public:
  /// `text`: UTF-8; invalid bytes count as U+FFFD. It and `stop` must outlive the reader.
  SentenceReader(std::string_view text, const StopSignal& stop);
  ~SentenceReader();
  SentenceReader(const SentenceReader&) = delete;
  SentenceReader& operator=(const SentenceReader&) = delete;

  /// The next sentence's place; an empty range after the last one. Throws Error when `stop` is due.
  TextRange next();

 private:
  struct Rules;
  void read_more();

  std::string_view text_;
  const StopSignal& stop_;
  std::unique_ptr<Rules> rules_;
  std::vector<std::size_t> ends_;  ///< of sentences found, the next one last
  std::size_t at_ = 0;             ///< where the next sentence begins
};

/// Where sentences begin inside a text, in code points, up to the first such place from `end` on: ICU's boundaries
/// without a language (UAX #29). A lone line break ends no sentence, as texts may be wrapped: in each run of tabs,
/// spaces and line breaks (LF, CR, U+0085, U+2028; CR LF is one) with exactly one break, all characters count as
/// spaces.
std::vector<std::size_t> sentence_boundaries(std::string_view text, std::size_t end);

/// Appends the ids of the text's sentences, tokenized one by one and each behind the id `start`, if given, until there
/// are more than `limit`. Returns how many ids there were after each sentence. Throws Error when `stop` is due.
std::vector<std::size_t> encode_sentences(const Tokenizer& tokenizer, std::string_view text, std::size_t limit,
                                          std::optional<std::int32_t> start, std::vector<std::int32_t>& ids,
                                          const StopSignal& stop);

/// place_of_pieces() for the ids of encode_sentences(); `starts`: with one before each sentence.
TextRange place_of_sentence_pieces(const Tokenizer& tokenizer, std::string_view text, const PieceRange& pieces,
                                   bool starts, const StopSignal& stop);

}  // namespace relucent
