#include "model/families/pair_lengths.h"

#include <algorithm>

namespace relucent {
namespace {

std::size_t rest(std::size_t places, std::size_t taken) { return places - std::min(places, taken); }

}  // namespace

PairLengths cut_pair(const PairLengths& all, std::size_t places, PairCut how) {
  if (all.document <= rest(places, all.query) && all.query <= places) return all;
  if (how == PairCut::document_first) return {std::min(all.query, places), rest(places, all.query)};
  std::size_t shorter = std::min(all.query, all.document);
  std::size_t longer = std::max(shorter, rest(places, shorter));
  if (shorter > rest(places, longer)) {
    shorter = places / 2;
    longer = places - shorter;
  }
  return all.query <= all.document ? PairLengths{shorter, longer} : PairLengths{longer, shorter};
}

PairLengths cut_pair_for_chunks(const PairLengths& all, std::size_t places, PairCut how) {
  const PairLengths cut = cut_pair(all, places, how);
  if (cut.document == all.document) return cut;
  const std::size_t query = std::min(all.query, places / 2);
  return {query, places - query};
}

std::size_t deciding_pieces(std::size_t query, std::size_t places) {
  // With an odd number of places the longer of two long texts keeps one piece more. One piece more than fits shows
  // that a document is cut.
  const std::size_t fits = places - std::min(query, places / 2);
  return 1 + (places % 2 != 0 ? std::max(fits, query) : fits);
}

}  // namespace relucent
