// tokenizer.json, and the encoding of texts by what it describes. After the first NUL byte of an input stands a text,
// after the second one tokenizer_config.json, which names the class of another tokenizer than the usual one.
#include "model/tokenizer/load_tokenizer.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/tokenizer_check.h"

RELUCENT_FUZZ_JSON
RELUCENT_FUZZ_TARGET(tokenizer_json) {
  static const auto folder = tokenizer_folder("tokenizer_json", "");
  const auto [document, rest] = at_first_nul(input);
  const auto [text, settings] = at_first_nul(rest);
  scratch_file("tokenizer_json/tokenizer.json", document);
  scratch_file("tokenizer_json/tokenizer_config.json",
               settings.empty() ? R"({"tokenizer_class": "PreTrainedTokenizerFast"})" : settings);
  answer_or_error([&, words = text] {
    const auto loaded = load_tokenizer(folder, 1 << 24, "roberta");
    check_encoding(*loaded.tokenizer, words);
    loaded.tokenizer->token_id("<s>");
    loaded.tokenizer->summary();
  });
}
