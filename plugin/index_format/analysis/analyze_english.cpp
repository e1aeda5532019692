#include "plugin/index_format/analysis/english_chain.h"
#include "plugin/index_format/analysis/utf16.h"
#include "relucent/analysis.h"

namespace relucent {

std::vector<AnalyzedToken> analyze_english(std::string_view text) {
  thread_local analysis::EnglishChain chain;
  std::u16string units;
  std::vector<std::uint32_t> byte_of;
  analysis::append_utf16(text, units, byte_of);
  chain.reset(units);
  std::vector<AnalyzedToken> tokens;
  analysis::ChainToken token;
  while (chain.next(token)) {
    AnalyzedToken& out = tokens.emplace_back();
    analysis::append_utf8(token.term, out.term);
    out.start = byte_of[token.start];
    out.end = byte_of[token.end];
    out.position_increment = token.position_increment;
  }
  return tokens;
}

}  // namespace relucent
