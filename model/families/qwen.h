#pragma once

#include "model/families/family.h"

namespace relucent {

/// Decoders that judge a pair by the tokens that would follow a chat: Qwen3-Reranker, also as a sequence classifier,
/// and mxbai-rerank-v2 (Qwen2), each with its own template.
extern const Family kQwen2Family, kQwen3Family;

}  // namespace relucent
