#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relucent::program {

/// Bytes at the beginning of a text that make_snippet() looks at. Looking further into a document for a better place
/// would cost more time than searching for it did.
inline constexpr std::size_t kSnippetSource = std::size_t{64} << 10;

/// A piece of a text for a result list.
struct Snippet {
  std::string text;  ///< one printable line; "…" where the text goes on
  std::vector<std::pair<std::size_t, std::size_t>>
      marks;  ///< bytes [first, second) of the words that the query has, too
};

/// The stems of a query's words, as the first stage searches them.
std::set<std::string> query_stems(std::string_view query);

/// The piece of at most `columns` columns that holds the most different words of the query; of equal ones the first.
/// Of a long text the first kSnippetSource bytes are looked at.
Snippet make_snippet(std::string_view text, const std::set<std::string>& stems, std::size_t columns);

}  // namespace relucent::program
