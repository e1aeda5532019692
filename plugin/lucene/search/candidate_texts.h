#pragma once

#include <Searcher.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relucent/config.h"
#include "relucent/scorer.h"
#include "relucent/stop.h"
#include "relucent/text_range.h"

namespace relucent {

/// A first-stage hit for the second stage.
struct FirstStageHit {
  std::int32_t document = 0;
  double score = 0;
  std::int32_t rank = 0;  ///< from 1
};

/// Stored fields of hits, by the index of the hit; those of other hits than the fetched ones are empty.
struct CandidateTexts {
  std::vector<std::string> ids;
  std::vector<std::string> texts;             ///< empty if only white space is stored
  std::vector<std::vector<TextRange>> parts;  ///< of the texts, as ModelText::parts

  /// The hit's token ids, if requested and stored. The view lives as long as this object.
  std::optional<CandidateTokens> tokens(std::size_t hit) const;

  struct TokensPlace {
    std::size_t begin = 0, size = 0;  ///< in token_ids
    bool all = true;
  };
  std::vector<std::int32_t> token_ids;  ///< of all hits
  std::vector<std::optional<TokensPlace>> token_places;
  std::vector<bool> fetched;
};

/// Reads the id, the text (of all fields_read(), all their values) and, if `with_token_ids`, the token ids of the
/// wanted hits, given by their indices, unless `texts` has them already. Visits documents in number order, which is
/// their order on disk. Throws Error when `stop` is due, and what StoredFields throws.
void fetch_texts(const Lucene::SearcherPtr& searcher, std::span<const FirstStageHit> hits,
                 std::span<const std::size_t> wanted_hits, const IndexConfig& fields, bool with_token_ids,
                 const StopSignal& stop, CandidateTexts& texts);

}  // namespace relucent
