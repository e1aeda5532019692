#include "plugin/index_format/analysis/languages/language_terms.h"

#include "plugin/index_format/analysis/utf16.h"

namespace relucent::analysis {

std::span<const Term> LanguageTerms::terms_of(std::string_view text) {
  units_.clear();
  bytes_.clear();
  ends_.clear();
  terms_.clear();
  append_utf16(text, units_);
  chain_->reset(units_);
  ChainToken token;
  while (chain_->next(token)) {
    append_utf8(token.term, bytes_);
    ends_.push_back(bytes_.size());
    terms_.push_back({{}, 0, token.position_increment});
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    terms_[i].text = std::string_view(bytes_).substr(begin, ends_[i] - begin);
    terms_[i].hash = hash_of(terms_[i].text);
    begin = ends_[i];
  }
  return terms_;
}

}  // namespace relucent::analysis
