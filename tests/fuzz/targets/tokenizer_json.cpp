// tokenizer.json, and the encoding of texts by what it describes. After the first NUL byte of the input stands a text.
#include "model/tokenizer/load_tokenizer.h"
#include "tests/fuzz/tokenizer_check.h"

RELUCENT_FUZZ_TARGET(tokenizer_json) {
  static const auto folder = tokenizer_folder("tokenizer_json", "PreTrainedTokenizerFast");
  const auto [document, text] = at_first_nul(input);
  scratch_file("tokenizer_json/tokenizer.json", document);
  answer_or_error([&, text = text] { check_encoding(*load_tokenizer(folder, 1 << 24, "roberta").tokenizer, text); });
}
