#pragma once

#include <TokenStream.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/index_format/analysis/token_chain.h"
#include "relucent/analyzer_kind.h"

namespace relucent {

/// A chain as a Lucene++ TokenStream. Offsets count wchar_t units, that is code points.
class ChainTokenStream : public Lucene::TokenStream {
 public:
  explicit ChainTokenStream(AnalyzerKind language);

  void set_text(std::string_view utf8);
  void set_text(const wchar_t* text, std::size_t size);

  bool incrementToken() override;
  void end() override;
  void reset() override;

 private:
  void start();

  Lucene::TermAttributePtr term_;
  Lucene::PositionIncrementAttributePtr position_;
  Lucene::OffsetAttributePtr offset_;
  std::unique_ptr<analysis::TokenChain> chain_;
  std::u16string units_;
  bool pairs_ = false;  ///< units_ has surrogate pairs, so offsets are not positions in it
  std::wstring buffer_;
  std::size_t counted_units_ = 0, counted_points_ = 0;

  std::int32_t point_of(std::size_t unit);
};

}  // namespace relucent
