// vocab.txt of WordPiece, and, for an input that begins with '{', vocab.json and merges.txt of BPE, which stand before
// and after the first NUL byte.
#include "model/tokenizer/load_tokenizer.h"
#include "tests/fuzz/tokenizer_check.h"

RELUCENT_FUZZ_TARGET(vocabulary) {
  static const auto words = tokenizer_folder("wordpiece", "BertTokenizer");
  static const auto pairs = tokenizer_folder("bpe", "RobertaTokenizer");
  const auto [first, second] = at_first_nul(input);
  const bool bpe = first.starts_with('{');
  if (bpe) {
    scratch_file("bpe/vocab.json", first);
    scratch_file("bpe/merges.txt", second);
  } else {
    scratch_file("wordpiece/vocab.txt", first);
  }
  answer_or_error([&, text = second] {
    const auto loaded = load_tokenizer(bpe ? pairs : words, 1 << 20, bpe ? "roberta" : "bert");
    check_encoding(*loaded.tokenizer, text);
  });
}
