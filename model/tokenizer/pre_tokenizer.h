#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/tokenizer/component.h"
#include "model/tokenizer/text_pattern.h"

namespace relucent {

/// A text and the pieces into which it is split, in order, none of them empty.
struct Pieces {
  std::string text;  ///< well-formed UTF-8
  std::vector<TextRange> ranges;
  bool from_start = true;           ///< the text begins with what the whole text begins with
  PatternBudget* budget = nullptr;  ///< of the whole text; not null where an expression may be a part
};

/// Splits pieces as the component of the same name in Hugging Face's tokenizers library does. Immutable, thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;

  /// What it makes of "a b" (any ASCII letters or digits).
  enum class AtSpaces {
    splits,   ///< splits between "a" and " b" or removes the space, and looks no further
    ignores,  ///< the same whether or not the text is cut between "a" and " b"
    unknown
  };
  virtual AtSpaces at_spaces() const = 0;
};

/// Throws Error naming the place: `unsupported` for an unknown type, `invalid_data` for missing or wrong values.
std::unique_ptr<const PreTokenizer> read_pre_tokenizer(const Component& part);

std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer();

}  // namespace relucent
