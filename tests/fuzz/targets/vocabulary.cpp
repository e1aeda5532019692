// The files of a tokenizer without tokenizer.json. An input has four parts, which NUL bytes separate: vocab.txt of
// WordPiece and a text, or vocab.json of BPE, which begins with '{', and merges.txt; then tokenizer_config.json, and
// special_tokens_map.json or, if it begins with '+', added_tokens.json. Without bytes the last two are not there.
#include <array>
#include <tuple>

#include "model/tokenizer/load_tokenizer.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/tokenizer_check.h"

RELUCENT_FUZZ_JSON
RELUCENT_FUZZ_TARGET(vocabulary) {
  std::array<std::string_view, 4> parts;
  std::string_view rest = input;
  for (std::string_view& part : parts) std::tie(part, rest) = at_first_nul(rest);
  const auto& [vocabulary, second, settings, tokens] = parts;
  const bool bpe = vocabulary.starts_with('{'), added = tokens.starts_with('+');
  const std::string name = bpe ? "bpe" : "wordpiece";
  std::filesystem::create_directories(scratch() / name);
  scratch_file(name + (bpe ? "/vocab.json" : "/vocab.txt"), vocabulary);
  if (bpe) scratch_file("bpe/merges.txt", second);
  optional_scratch_file(name + "/tokenizer_config.json", settings);
  optional_scratch_file(name + "/special_tokens_map.json", added ? std::string_view() : tokens);
  optional_scratch_file(name + "/added_tokens.json", added ? tokens.substr(1) : std::string_view());
  answer_or_error([&, text = second] {
    const auto loaded = load_tokenizer(scratch() / name, 1 << 20, bpe ? "roberta" : "bert");
    check_encoding(*loaded.tokenizer, text);
    loaded.tokenizer->token_id("[SEP]");
    loaded.tokenizer->summary();
  });
}
