#pragma once

#include "model/families/family.h"

namespace relucent {

/// Alibaba's NewModel with a sequence classification head of one output (gte-multilingual-reranker): BERT with rotary
/// positions and a gated feed-forward. Source: Zhang et al., "mGTE", EMNLP 2024 industry track (arXiv 2407.19669).
extern const Family kGteFamily;

}  // namespace relucent
