#pragma once

#include "model/families/family.h"

namespace relucent {

/// PARADE: BERT on a document's passages, each with the query, whose [CLS] states are pooled by a maximum or a small
/// Transformer. (Li et al., "PARADE: Passage Representation Aggregation for Document Reranking", arXiv 2008.09093.)
extern const Family kParadeFamily;

}  // namespace relucent
