#pragma once

#include "model/families/family.h"

namespace relucent {

/// DeBERTa-v2 and -v3 with a sequence classification head of one output: BERT whose attention also compares contents
/// with relative positions. Source: He et al., "DeBERTa", ICLR 2021 (arXiv 2006.03654) and arXiv 2111.09543.
extern const Family kDebertaFamily;

}  // namespace relucent
