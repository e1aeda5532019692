#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "relucent/config.h"

namespace relucent::bm25 {

/// Finds out whether a query's terms come from another analyzer than the index's. Analyzes the query's text at most
/// once per analyzer. One query, one thread.
class OtherAnalyzer {
 public:
  /// @param recorded  the index's analyzer
  /// @param text      what the query was parsed from, UTF-8; empty if that is unknown
  OtherAnalyzer(AnalyzerKind recorded, std::string text) : recorded_(recorded), text_(std::move(text)) {}

  /// The term that the index has for the word of which another analyzer made `term`; nullopt if `term` may come from
  /// the index's own analyzer, or if nothing suggests otherwise. Meant for terms that the index does not have.
  std::optional<std::string> index_term(const std::string& term);

 private:
  using Terms = std::unordered_map<std::string, std::string>;  // of other analyzers, with the index's
  Terms terms_of_others(const std::string& text) const;

  AnalyzerKind recorded_;
  std::string text_;
  std::optional<std::unordered_set<std::string>> own_;  // of text_
  std::optional<Terms> others_;                         // of text_
};

}  // namespace relucent::bm25
