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

/// A hit's stored text.
struct HitText {
  std::string id, text;          ///< text: empty if only white space is stored
  std::vector<TextRange> parts;  ///< of the text, as ModelText::parts
  bool fetched = false;
};

/// What is to be read of a hit, and where it goes.
struct WantedText {
  std::int32_t document = 0;
  HitText* text = nullptr;                              ///< read unless it is fetched
  std::vector<std::optional<std::string>> stored = {};  ///< by stored field
};

/// Reads ids, texts (of all fields_read(), all their values) and the first binary values of `stored_fields`. Visits
/// documents in number order, which is their order on disk. Throws Error when `stop` is due, and what StoredFields
/// throws.
void fetch_texts(const Lucene::SearcherPtr& searcher, std::span<WantedText> hits, const IndexConfig& fields,
                 std::span<const std::string> stored_fields, const StopSignal& stop);

}  // namespace relucent
