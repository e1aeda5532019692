#pragma once

#include <cstdint>
#include <vector>

#include "relucent/export.h"
#include "relucent/kernels/encoder.h"

namespace relucent {

/// What a layer computes of a group.
enum class Need : std::uint8_t {
  nothing,  ///< no later step reads the group, and no needed token sees it
  keys,     ///< its keys and values only: needed tokens see it, but nothing reads its states after the layer
  states,
};

/// What follows for one group of tokens in one layer.
struct GroupPlan {
  Dependence before = Dependence::nothing;  ///< of its states, keys and values, when they enter the layer
  Dependence after = Dependence::nothing;   ///< of its states after the layer
  Need need = Need::nothing;

  friend bool operator==(const GroupPlan&, const GroupPlan&) = default;
};

/// What follows from a description, for every backend. Two passes over the layers: forward, a group's states depend on
/// whatever the groups that it sees depend on; backward from the head, a layer needs what it and later layers read.
/// For example:
/// - `after` within `query` wherever a group is needed: computed once per query (computed_once());
/// - the last layer of a cross-encoder needs the states of [CLS] and the keys of everything else: one row per candidate
///   passes through it, and its key and value projections can move out of the sums over tokens;
/// - `after` within `candidate`: the states can be computed when a document is indexed (layers_apart());
/// - where only `keys` of the query are needed, its encoding ends: later layers need nothing.
struct Plan {
  std::vector<std::vector<std::vector<GroupPlan>>> stacks;  ///< [stack][layer][group], also groups of other stacks

  /// Whether what is needed of a group is the same for all candidates.
  RELUCENT_API bool computed_once(std::int32_t group) const;
  /// The leading layers of the only stack that query and candidate pass through apart: behind each of them, a group
  /// still depends on one of both alone. 0 with several stacks.
  RELUCENT_API std::size_t layers_apart() const;
};

/// Throws Error `invalid_data` for a description without groups, layers or a head, with a group, view or layer that
/// does not exist, or with a derived group or a gated token in the wrong stack.
RELUCENT_API Plan make_plan(const EncoderDescription& description);

}  // namespace relucent
