#pragma once

#include <cstddef>

namespace relucent {

/// Word pieces of a query and of a document.
struct PairLengths {
  std::size_t query = 0, document = 0;

  friend bool operator==(const PairLengths&, const PairLengths&) = default;
};

/// Which text of a pair loses its end first.
enum class PairCut {
  longest_first,   ///< the longer one, as Hugging Face's tokenizers do by the strategy of this name
  document_first,  ///< the document
};

/// What remains of both texts if there are `places` for them. longest_first, with s <= l the two lengths and s + l >
/// places: the longer text keeps max(s, places - s); if s + that is still too much, the shorter one keeps half of the
/// places, rounded down, and the longer one the rest. If they are equally long, the query is the shorter one.
PairLengths cut_pair(const PairLengths& all, std::size_t places, PairCut how);

/// The same for a document that may be split: one that would be cut is read in chunks instead, with at most half of
/// the places for the query. Then `document` is the room for a chunk.
PairLengths cut_pair_for_chunks(const PairLengths& all, std::size_t places, PairCut how);

/// How many pieces of a document decide what remains: more of them change nothing.
std::size_t deciding_pieces(std::size_t query, std::size_t places);

}  // namespace relucent
