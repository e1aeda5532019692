#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/index_format/analysis/term_source.h"
#include "plugin/index_format/analysis/token_chain.h"

namespace relucent::analysis {

/// A chain for indexing.
class LanguageTerms final : public TermSource {
 public:
  explicit LanguageTerms(std::unique_ptr<TokenChain> chain) : chain_(std::move(chain)) {}
  std::span<const Term> terms_of(std::string_view text) override;

 private:
  std::unique_ptr<TokenChain> chain_;
  std::u16string units_;
  std::string bytes_;  ///< of the terms
  std::vector<std::size_t> ends_;
  std::vector<Term> terms_;
};

}  // namespace relucent::analysis
