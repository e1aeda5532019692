// A head that pools pivots by attention is linear but for its softmax, so it folds into two vectors per group and head.
#pragma once

#include <vector>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// What pools one group of states g_n: per head i, sum_n softmax_n(u_i . g_n) (z_i . g_n); and a bias, unless the group
/// is empty.
struct FoldedPooling {
  std::vector<float> weighing, values;  ///< [heads, hidden]: u and z
  double bias = 0;
};

struct FoldedHead {
  std::vector<FoldedPooling> groups;  ///< those of Head::groups
  double bias = 0;                    ///< of every score
};

/// Folds a head with pooling heads and one output.
FoldedHead fold_head(const EncoderDescription& description, const EncoderWeights& weights);

}  // namespace relucent
