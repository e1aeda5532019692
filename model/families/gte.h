#pragma once

#include "model/families/family.h"

namespace relucent {

/// Alibaba's NewModel with a sequence classification head of one output (gte-multilingual-reranker): BERT with rotary
/// positions and a gated feed-forward. Source: Zhang et al., "mGTE", EMNLP 2024 industry track (arXiv 2407.19669). The
/// other family is the same network, as transformers' own class saves it.
extern const Family kAlibabaGteFamily, kGteFamily;

}  // namespace relucent
