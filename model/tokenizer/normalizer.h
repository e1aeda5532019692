#pragma once

#include <memory>
#include <string>

#include "model/tokenizer/component.h"
#include "model/tokenizer/text_pattern.h"

namespace relucent {

/// A text on its way through the normalizers.
struct NormalizedText {
  std::string text;                 ///< well-formed UTF-8
  bool from_start = true;           ///< it begins with what the whole text begins with
  PatternBudget* budget = nullptr;  ///< of the whole text; not null where an expression may be a part
};

/// Changes a text as the component of the same name in Hugging Face's tokenizers library does. Immutable, thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalizedText& text) const = 0;
  /// Whether a text may be cut between "a" and " b" (any ASCII letters or digits), and its parts normalized one by one.
  virtual bool allows_cuts() const { return true; }
};

/// Throws Error naming the place: `unsupported` for an unknown type, `invalid_data` for missing or wrong values.
std::unique_ptr<const Normalizer> read_normalizer(const Component& part);

/// BERT's normalizer with these settings.
std::unique_ptr<const Normalizer> make_bert_normalizer(bool clean_text, bool handle_chinese_chars, bool strip_accents,
                                                       bool lowercase);

}  // namespace relucent
