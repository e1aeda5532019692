#include <array>
#include <memory>

#include "base/require_memory.h"
#include "plugin/index_format/analysis/english_chain.h"
#include "plugin/index_format/analysis/languages/language_chain.h"
#include "plugin/index_format/analysis/utf16.h"
#include "relucent/analysis.h"
#include "relucent/error.h"

namespace relucent {
namespace {

std::vector<AnalyzedToken> tokens_of(analysis::TokenChain& chain, std::string_view text) {
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

}  // namespace

std::vector<AnalyzedToken> analyze_english(std::string_view text) {
  thread_local analysis::EnglishChain chain;
  return tokens_of(chain, text);
}

bool can_analyze(AnalyzerKind analyzer) noexcept { return analysis::has_chain(analyzer); }

std::vector<AnalyzedToken> analyze(AnalyzerKind analyzer, std::string_view text) {
  if (analyzer == AnalyzerKind::english) return analyze_english(text);
  if (!can_analyze(analyzer)) {
    throw Error(ErrorKind::usage, "analyze", "this analyzer is Lucene++'s own", "use make_analyzer()");
  }
  using Chains = std::array<std::unique_ptr<analysis::TokenChain>, static_cast<std::size_t>(AnalyzerKind::turkish) + 1>;
  thread_local Chains chains = [] {
    require_memory_for_thread_local();
    return Chains();
  }();
  auto& chain = chains.at(static_cast<std::size_t>(analyzer));
  if (!chain) chain = analysis::make_chain(analyzer);
  return tokens_of(*chain, text);
}

}  // namespace relucent
