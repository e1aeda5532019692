// SentencePiece's *.model and its table of replacements. The first byte selects the class of the tokenizer that the
// model becomes (for the last one the library's own), or the table by itself.
#include <array>

#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/precompiled_charsmap.h"
#include "tests/fuzz/tokenizer_check.h"

namespace relucent::fuzz {
namespace {

void read_charsmap(std::string_view bytes) {
  const auto table = PrecompiledCharsmap::parse(bytes);
  if (!table) return;
  for (const std::string_view text : {std::string_view("\uFF21\uFB01e\u0301 \t12"), std::string_view("aab\u2460")}) {
    std::string normal(text);
    table->apply(normal);
    if (normal.size() > text.size() * PrecompiledCharsmap::kMaxReplacement) {
      report("a replacement that is too long");
    }
    const auto beginning = table->beginning_of(text, 8);
    if (beginning.bytes == 0 || beginning.bytes > text.size()) report("a beginning outside the text");
  }
  table->keeps_words_apart();
  table->nests_at_most(8);
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_TARGET(sentencepiece) {
  if (input.empty()) return;
  static const auto folder = tokenizer_folder("sentencepiece", "");
  constexpr std::array<const char*, 6> types = {"xlm-roberta", "t5", "deberta-v2", "camembert", nullptr, "t5"};
  const auto choice = static_cast<unsigned char>(input[0]) % types.size();
  input.remove_prefix(1);
  if (types[choice] == nullptr) return answer_or_error([&] { read_charsmap(input); });
  scratch_file("sentencepiece/spiece.model", input);
  const std::string_view other_class = choice + 1 == types.size() ? "DistilBertTokenizer" : "";
  answer_or_error([&] {
    const auto loaded = load_tokenizer(folder, 1 << 20, types[choice], other_class);
    check_encoding(*loaded.tokenizer, "A \u00e9 12");
    loaded.tokenizer->summary();
  });
}
