#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relucent/search_session.h"

namespace relucent::program {

/// How many bytes of a text make_snippet() searches. Searching more of a document for a better extract would take
/// longer than the search itself.
inline constexpr std::size_t kSnippetSource = kTextBeginning;

/// An extract of a text for a result list.
struct Snippet {
  std::string text;  ///< one printable line; "…" where the text continues
  std::vector<std::pair<std::size_t, std::size_t>>
      marks;  ///< bytes [first, second) of the words that also occur in the query
};

/// The terms of a query, as the first stage searches for them.
struct QueryStems {
  std::set<std::string> terms;
  AnalyzerKind analyzer = AnalyzerKind::english;
};

/// Analyzers that are Lucene++'s own count as english.
QueryStems query_stems(std::string_view query, AnalyzerKind analyzer = AnalyzerKind::english);

/// What a text is a part of.
struct Surroundings {
  bool before = false, after = false;  ///< whether there is text
};

/// The extract of at most `columns` columns with the most distinct words of the query; on a tie, the first.
Snippet make_snippet(std::string_view text, const QueryStems& stems, std::size_t columns,
                     Surroundings surroundings = {});

}  // namespace relucent::program
