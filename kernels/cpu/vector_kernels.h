#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "relucent/embedding_numbers.h"
#include "relucent/kernels/activation.h"

namespace relucent::cpu {

/// How the operands of a matrix product are stored. Sums are in fp32 except for int16 and int8.
enum class Arithmetic {
  fp32,
  bf16,           ///< pairs of 16-bit operands
  bf16_emulated,  ///< operands rounded to bf16 but held in fp32: the same function on any processor, no faster than
                  ///< fp32
  int16,  ///< weights with one scale per feature and activations with one scale per token, both rounded to whole
          ///< numbers up to kInt16Most, in pairs; exact sums over kInt16Inputs inputs, which are added in fp32
  int8,   ///< 8-bit weights with one scale per feature, 8-bit activations with one scale per token, exact sums
};

/// Weights are packed in blocks of this many output features; sizes on both sides are padded to multiples of it.
constexpr std::size_t kFeatureBlock = 16;
constexpr std::size_t padded(std::size_t features) {
  return (features + kFeatureBlock - 1) / kFeatureBlock * kFeatureBlock;
}

/// The largest operand of int16, and the inputs whose products are added exactly: 384 * 2047^2 < 2^31.
constexpr int kInt16Most = 2047;
constexpr std::size_t kInt16Inputs = 384;

/// How many of a product's inputs share four bytes: one float, two 16-bit numbers or four 8-bit integers.
constexpr std::size_t inputs_together(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::bf16:
    case Arithmetic::int16: return 2;
    case Arithmetic::int8: return 4;
    default: return 1;
  }
}

/// Whether operands are integers with a scale per feature and per token. A token's is known when all of its features
/// are.
constexpr bool is_scaled(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::int16 || arithmetic == Arithmetic::int8;
}

/// In activations, tokens run along the vector lanes, so that no operation of an encoder works across lanes: bias,
/// LayerNorm and softmax are sums over rows, and windowed attention reads neighbouring tokens with unaligned loads.
/// Tokens are grouped into *panels* of VectorKernels::panel tokens:
///   activation  float [panels][features][panel]
///   operand     4-byte units [panels][inputs / together][panel]: what a product multiplies, see inputs_together()
///               and, for another order, WeightLayout; int8 operands are unsigned with zero at 128; those of int8 and
///               int16 have one scale per token
/// A panel is several vectors of VectorKernels::lanes tokens wide. In the last panel, kernels compute the lanes beyond
/// the last token from whatever they contain and never read the results.

/// Y = W X + b for a range of output features, where X is an operand of `vectors` vectors of tokens.
struct Product {
  Arithmetic arithmetic = Arithmetic::fp32;
  const void* weights = nullptr;              ///< packed by PackedLinear
  const float* bias = nullptr;                ///< [features]
  bool biased = true;                         ///< otherwise every bias is 0
  const float* weight_scales = nullptr;       ///< int16, int8: [features]
  const std::int32_t* corrections = nullptr;  ///< int8: [features], -128 times the sum of a feature's weights
  std::size_t features = 0;                   ///< a multiple of kFeatureBlock
  std::size_t steps = 0;                      ///< padded inputs / inputs_together()

  const void* operand = nullptr;
  const float* token_scales = nullptr;  ///< int16, int8: [panels * panel]
  std::size_t vectors = 0;              ///< of tokens, over all panels

  enum class Output {
    store,         ///< out = Y
    add,           ///< out += Y
    gelu,          ///< out = GELU(Y)
    gelu_operand,  ///< out = GELU(Y) as the next product's operand of the same arithmetic; fp32 and bf16 only
  };
  Output output = Output::store;
  void* out = nullptr;  ///< feature f of panel p at out + p * panel_stride + f * feature_stride, in 4-byte units
  std::size_t panel_stride = 0, feature_stride = 0;  ///< gelu_operand uses only panel_stride and the operand's layout
};

/// The rows whose sum is one token's embedding.
struct EmbeddingRows {
  const float *word = nullptr, *position = nullptr, *type = nullptr;  ///< [features]
};

/// LayerNorm, or RMSNorm, over the features of each token. The kernel can also pack the result as the next operand.
struct Norm {
  float* x = nullptr;            ///< [panels][padded features][panel]
  const float* gamma = nullptr;  ///< [features]
  const float* beta = nullptr;   ///< [features]
  float epsilon = 0;
  std::size_t features = 0, vectors = 0;
  const float* bias = nullptr;  ///< [features], added to x itself first; null: none
  bool rms = false;             ///< x / sqrt(mean of x^2 + epsilon) * gamma
  float* to = nullptr;          ///< the result, in the same form; null: in place
};

/// Some features of consecutive tokens that belong into the operand of an activation.
struct FeatureRows {
  const float* rows = nullptr;  ///< feature first_feature + i of token first_token + t at rows[i * stride + t],
                                ///< readable for kReach tokens before and after
  std::size_t stride = 0;
  std::size_t first_feature = 0, count = 0;  ///< multiples of inputs_together()
  std::size_t first_token = 0, tokens = 0;   ///< in the operand
  std::size_t features = 0;                  ///< of the whole operand
};

/// An operand to fill.
struct OperandOut {
  Arithmetic arithmetic = Arithmetic::fp32;
  void* units = nullptr;          ///< null: the caller needs no operand
  float* token_scales = nullptr;  ///< int16, int8
};

constexpr std::size_t kNoWindow = static_cast<std::size_t>(-1);

/// Runs of keys that a token may see in addition to a band: the query's, and those of a candidate's context one by one.
constexpr std::size_t kMostSegments = 17;

/// Keys and values that tokens attend to: dimension d of key j at keys[d * stride + j].
struct Keys {
  const float* keys = nullptr;
  const float* values = nullptr;
  std::size_t stride = 0;
  std::size_t count = 0;
  /// Key j's place among the tokens is j + offset.
  std::ptrdiff_t offset = 0;
  /// Token i sees key j if |i - (j + offset)| <= window; kReach keys before the first and after the last must then be
  /// readable, and finite.
  std::size_t window = kNoWindow;
  /// If not null, biases[j * bias_stride + i] is added to token i's score of key j; readable up to the next whole
  /// vector of tokens.
  const float* biases = nullptr;
  std::size_t bias_stride = 0;
};

/// One head's attention of a run of consecutive tokens to the keys of `segments`, and to those of `band` within the
/// window.
struct Attention {
  const float* query = nullptr;  ///< dimension d of token i at query[d * query_stride + i]
  std::size_t query_stride = 0;
  float* output = nullptr;  ///< likewise
  std::size_t output_stride = 0;
  std::size_t tokens = 0;

  Keys segments[kMostSegments];
  std::size_t segment_count = 0;
  /// Key j of the band belongs to token j; token i sees it if |i - j| <= window. No key belongs to the last tokens if
  /// `count` is less than `tokens`; 0: no band. kReach keys before the first and after the last must be readable, and
  /// finite.
  Keys band;
  std::size_t window = 0;

  /// If not null, biases[i - (j + offset)] is added to token i's score of key j. Readable for all tokens and keys, and
  /// for kReach places beyond them.
  const float* biases = nullptr;
  /// If not null, masks[j] is added to the scores of the band's key j: 0, or the lowest float to hide it. Readable for
  /// kReach keys before the first and after the last.
  const float* masks = nullptr;

  std::size_t head_size = 0;
  float scale = 0;
  Arithmetic arithmetic = Arithmetic::fp32;  ///< bf16: operands may be rounded to bf16
  float* scores = nullptr;                   ///< scratch: (keys of the segments + band.count + kReach) * lanes floats
};

/// Rotary positions: pairs (d, d + size / 2) of the rows turn by an angle per pair and token.
struct Rotation {
  float* rows = nullptr;  ///< [size][stride]
  std::size_t stride = 0, size = 0;
  const float* cosines = nullptr;  ///< [size / 2][table_stride]
  const float* sines = nullptr;
  std::size_t table_stride = 0;
  std::size_t tokens = 0;  ///< a multiple of `lanes`
};

/// One sequence's values: feature f of token i at rows[f * stride + i], readable up to the next whole vector of tokens.
struct TokenRows {
  const float* rows = nullptr;
  std::size_t stride = 0, features = 0, tokens = 0;
};

/// A query's vectors along the lanes, and a document's vectors as rows.
struct BestProducts {
  const float* queries = nullptr;  ///< number f of query vector q at queries[f * stride + q]
  std::size_t stride = 0;          ///< a multiple of `lanes`
  std::size_t size = 0;            ///< of a vector
  const float* rows = nullptr;     ///< [count][size]
  std::size_t count = 0;
  float* best = nullptr;  ///< [stride]: the greatest product so far
};

/// The layout of a product's weights, in four-byte units; `steps` as in Product.
enum class WeightLayout {
  by_step,     ///< [features / 16][steps][16 features]; fp32 and int16 always
  tiles,       ///< bf16 and int8 weights: [features / 16][steps / 16][16 features][16 steps], padded with zeros
  step_pairs,  ///< bf16 and int8 weights: [features / 16][steps / 2][16 features][2 steps]; their operands are
               ///< [panels][steps / 2][panel][2 steps]
};

/// Whether a level's layout is that of this arithmetic.
constexpr bool has_layout(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::bf16 || arithmetic == Arithmetic::int8;
}

/// How many steps of a token stand side by side in an operand.
constexpr std::size_t steps_side_by_side(WeightLayout layout, Arithmetic arithmetic) {
  return layout == WeightLayout::step_pairs && has_layout(arithmetic) ? 2 : 1;
}

/// The kernels of one instruction set. They write nothing outside the outputs stated above. A token's results depend
/// only on its own values and those of its keys, never on its lane or panel.
struct VectorKernels {
  const char* name;
  std::size_t lanes;            ///< tokens per vector
  std::size_t panel;            ///< tokens per panel
  std::size_t panels_together;  ///< panels that a product over all features should process at a time
  std::size_t bf16_inputs;      ///< inputs that a product of bf16 should sum at a time; 0: all
  std::size_t group_tokens;     ///< tokens that a worker should compute at a time
  bool native_bf16, native_int8;
  bool fast_int16;      ///< faster than fp32
  bool automatic;       ///< may be chosen if the caller names no instruction set
  WeightLayout layout;  ///< of bf16 and int8 weights; others are always by_step

  /// The embeddings of `count` tokens, 1 to `lanes`, as one vector of an activation: feature f at x[f * panel]. Also
  /// fills the lanes beyond the last token.
  void (*embed)(const EmbeddingRows* tokens, std::size_t count, std::size_t features, float* x);
  void (*product)(const Product& product);
  /// x <- activation(x) * gate (null: 1), element by element; `count` is a multiple of `lanes`. `rounded`: the results
  /// are rounded to 16 or 8 bits afterwards, so GELU's shorter form is enough.
  void (*activate)(Activation activation, bool rounded, float* x, const float* gate, std::size_t count);
  void (*norm)(const Norm& norm, const OperandOut& out);
  /// An activation ([panels][padded(features)][panel]) as an operand.
  void (*pack)(const float* activation, std::size_t features, std::size_t vectors, const OperandOut& out);
  /// Writes rows into an operand and leaves other features and tokens alone. Not for int16 and int8.
  void (*pack_rows)(const FeatureRows& from, const OperandOut& out);
  void (*rotate)(const Rotation& rotation);
  void (*attend)(const Attention& attention);
  /// The same for a single token without a band, windows, biases or masks, with the keys along the lanes. Keys must be
  /// readable up to the next multiple of `lanes`; `scores` has room for the keys of all segments, each count rounded up
  /// to a multiple of `lanes`.
  void (*attend_one)(const Attention& attention);

  /// products[h * stride + token] = sum_f vectors[f * vector_stride + h] x[f][token], h < count.
  void (*token_products)(const TokenRows& x, const float* vectors, std::size_t vector_stride, std::size_t count,
                         float* products, std::size_t stride);
  /// sums[h * sums_stride + f] += sum over the tokens of weights[h * stride + token] x[f][token], h < count; the
  /// weights beyond the last token, up to a whole vector, must be 0.
  void (*token_sums)(const TokenRows& x, const float* weights, std::size_t stride, std::size_t count, float* sums,
                     std::size_t sums_stride);
  /// Runs `rounds` rounds of multiply-adds on random operands in the first-level cache; returns the number of
  /// operations.
  double (*spin)(Arithmetic arithmetic, std::size_t rounds);
  /// values <- softmax(values), in place.
  void (*softmax)(float* values, std::size_t count);
  /// best[q] <- max(best[q], rows . query q).
  void (*best_products)(const BestProducts& products);
  /// `count` vectors of `size` numbers as stored, as floats: [count][size].
  void (*widen)(EmbeddingNumbers numbers, const char* stored, std::size_t size, std::size_t count, float* to);
};

/// How many keys before the first and after the last one of a band the kernels may read.
constexpr std::size_t kReach = 64;

/// The levels of this build that the processor can run, the best one last. The first is "plain"; with AVX2 the next are
/// "amx_emulated" and "avx_vnni_emulated", which are in plain C++ what the levels of these names are, for tests.
struct VectorLevels {
  const VectorKernels* levels[10];
  std::size_t count;
  const VectorKernels* refused[10];  ///< supported by the processor, but they compute wrong products (known_product.h)
  std::size_t refused_count;
};
VectorLevels available_vector_kernels();
/// The available ones of that name; null if there are none.
const VectorKernels* vector_kernels_named(std::string_view name);

/// The best of `levels` whose `automatic` is true; `without_tiles`: for fp32 and int16, which tiles do not multiply,
/// and with which panels are narrower. All levels of 16 lanes give these the same bits.
const VectorKernels& best_of(const VectorLevels& levels, bool without_tiles);

/// The best of the available ones for any precision.
const VectorKernels& best_vector_kernels();

namespace amx_emulated {
extern const VectorKernels kKernels;
}
namespace plain {
extern const VectorKernels kKernels;
}
namespace avx2 {
extern const VectorKernels kKernels;
}
namespace avx_vnni {
extern const VectorKernels kKernels;
}
namespace avx_vnni_emulated {
extern const VectorKernels kKernels;
}
namespace avx512 {
extern const VectorKernels kKernels;
}
namespace avx512_vnni {
extern const VectorKernels kKernels;
}
namespace avx512_bf16 {
extern const VectorKernels kKernels;
}
namespace amx {
extern const VectorKernels kKernels;
}
namespace neon {
extern const VectorKernels kKernels;
}
namespace neon_dot {
extern const VectorKernels kKernels;
}
namespace neon_i8mm {
extern const VectorKernels kKernels;
}
namespace neon_bf16 {
extern const VectorKernels kKernels;
}

}  // namespace relucent::cpu
