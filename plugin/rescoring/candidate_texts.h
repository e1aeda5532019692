#pragma once

#include <Searcher.h>

#include <span>
#include <string>
#include <vector>

#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent {

/// A first-stage hit as the second stage uses it.
struct FirstStageHit {
  std::int32_t document = 0;
  double score = 0;
  std::int32_t rank = 0;  ///< from 1
};

/// Stored fields of hits, in the order of the hits.
struct CandidateTexts {
  std::vector<std::string> ids;
  std::vector<std::string> texts;  ///< empty where nothing but white space is stored
};

/// Reads id and text of the hits, visiting documents in the order of their numbers, as they lie on the disk. Throws Error
/// when `stop` is due, and what Lucene++ throws.
CandidateTexts fetch_texts(const Lucene::SearcherPtr& searcher, std::span<const FirstStageHit> hits,
                           const IndexConfig& fields, const StopSignal& stop);

}  // namespace relucent
