#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "relucent/scorer.h"

namespace relucent {

/// The token ids of a searched index; null if it stores none.
///
/// @param kind  must outlive the source
std::shared_ptr<const InputSource> open_token_ids(const TokenIdsKind& kind,
                                                  const std::shared_ptr<const InputIndex>& index);

/// Each candidate's token ids, as far as they are known.
std::vector<std::optional<TokenIds>> token_ids_of(std::span<const Candidate> candidates);

}  // namespace relucent
