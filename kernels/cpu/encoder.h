#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/linear.h"
#include "cpu/vector_kernels.h"
#include "relucent/kernels/backend.h"

namespace relucent::cpu {

/// One worker's memory; buffers grow to the longest input met and are then reused.
struct Workspace {
  std::vector<float> x;        // [rows, hidden]: the block's input, then its output
  std::vector<float> qkv;      // [rows, 3 hidden]: query, key and value of each row
  std::vector<float> context;  // [rows, hidden]
  std::vector<float> product;  // [rows, max(hidden, intermediate)]
  std::vector<float> scores;   // [rows]
  std::vector<float> cls;      // what the last block needs for [CLS] alone
  Operand operand, activated;
};

/// What a query contributes to every candidate where it does not depend on them: each block's query, key and value rows,
/// and the last block's input.
struct QueryStates {
  std::vector<std::vector<float>> qkv;  // [layers - 1][|Q|, 3 hidden]
  std::vector<float> last;              // [|Q|, hidden]: input of the last block
  std::size_t rows = 0;
};

/// An encoder's weights in the form that the CPU computes with, and the computation of one sequence on one thread.
/// Immutable; threads bring their own Workspace.
///
/// Work a candidate of T = 1 + |D| tokens, with the query shared: (layers - 1) blocks of 2 T (4 H^2 + 2 H I) operations
/// in four matrix products, plus the band's attention (1 % of it at w = 4); the last block touches [CLS] alone: its keys
/// and values are absorbed into the projections (q . (W_K x) = (W_K^T q) . x, sum_k p_k W_V x_k = W_V sum_k p_k x_k),
/// so that it reads each row twice and multiplies nothing by a matrix but [CLS].
class Encoder {
 public:
  Encoder(const EncoderDescription& description, const EncoderWeights& weights, Arithmetic arithmetic,
          const VectorKernels& kernels);

  /// Whether Q's states are the same for all candidates.
  bool shares_query() const noexcept { return shares_query_; }
  QueryStates encode_query(std::span<const std::int32_t> query, Workspace& workspace, const StopSignal& stop) const;

  /// The logit of one candidate. `shared` is the query's states where shares_query(), else null.
  float score(std::int32_t cls_id, std::span<const std::int32_t> query, std::span<const std::int32_t> document,
              const QueryStates* shared, Workspace& workspace, const StopSignal& stop) const;

  /// Every block for every row.
  HiddenStates hidden_states(std::int32_t cls_id, std::span<const std::int32_t> query,
                             std::span<const std::int32_t> document, Workspace& workspace) const;

 private:
  struct Norm {
    std::vector<float> gamma, beta;
  };
  struct Layer {
    std::unique_ptr<const Linear> qkv, attention_output, intermediate, output;
    Norm attention_norm, output_norm;
  };
  /// The last block's projections for [CLS], always fp32.
  struct LastLayer {
    std::vector<float> query, query_bias, key, value, value_bias;  // [H, H], [H]
    std::vector<float> attention_output, attention_bias;
    std::vector<float> intermediate, intermediate_bias, output, output_bias;
    Norm attention_norm, output_norm;
  };
  /// Where Q's rows stand in this run: in the workspace behind [CLS], or in shared states.
  struct Layout {
    std::size_t query = 0, document = 0;
    bool query_in_rows = false;
    std::size_t first_document_row() const { return query_in_rows ? 1 + query : 1; }
    std::size_t rows() const { return first_document_row() + document; }
  };

  void embed(std::span<const std::int32_t> ids, std::size_t first_position, std::size_t token_type, float* rows) const;
  void embed(std::int32_t cls_id, std::span<const std::int32_t> query, std::span<const std::int32_t> document,
             const Layout& layout, Workspace& workspace) const;
  /// One whole block over `rows` rows of workspace.x; `attend` fills workspace.context from workspace.qkv.
  template <typename Attend>
  void block(const Layer& layer, std::size_t rows, Workspace& workspace, const Attend& attend) const;
  void attend_rows(const AttentionPattern& pattern, const Layout& layout, const float* query_qkv,
                   Workspace& workspace) const;
  /// The last block for [CLS]; leaves its state at workspace.x[0].
  void last_block(const Layout& layout, const float* query_rows, Workspace& workspace) const;
  float head(Workspace& workspace) const;
  void reserve(Workspace& workspace, std::size_t rows) const;

  EncoderDescription description_;
  const VectorKernels& kernels_;
  Arithmetic arithmetic_, projection_arithmetic_;
  bool shares_query_;
  std::vector<float> word_, position_, token_type_;
  Norm embedding_norm_;
  std::vector<Layer> layers_;
  LastLayer last_;
  std::vector<float> pooler_, pooler_bias_, classifier_, classifier_bias_;
};

}  // namespace relucent::cpu
