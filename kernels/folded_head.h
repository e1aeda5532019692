// A head that pools pivots is linear but for the pooling: with attention, whose softmax alone is not, it folds into two
// vectors per group and head; otherwise into one vector per group.
#pragma once

#include <vector>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// What one group of states g_n adds to the score, besides a bias, unless the group is empty. Pooled by attention: per
/// head i, sum_n softmax_n(u_i . g_n) (z_i . g_n). Otherwise z . g, where g is the pooled state.
struct FoldedPooling {
  std::vector<float> weighing, values;  ///< [heads, hidden]: u and z; otherwise nothing and [hidden]
  double bias = 0;
};

struct FoldedHead {
  std::vector<FoldedPooling> groups;  ///< those of Head::groups
  double bias = 0;                    ///< of every score
};

/// Folds a head that pools pivots, with one dense layer or none, and one output.
FoldedHead fold_head(const EncoderDescription& description, const EncoderWeights& weights);

}  // namespace relucent
