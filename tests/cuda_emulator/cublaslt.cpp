// cuBLASLt's functions; oneDNN multiplies.
#include "tests/cuda_emulator/include/cublasLt.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "tests/cuda_emulator/devices.h"
#include "tests/cuda_emulator/include/cuda_bf16.h"
#include "tests/cuda_emulator/include/cuda_fp16.h"
#include "tests/cuda_emulator/work.h"

using namespace relucent::emulator;

struct cublasLtContext {
  int device;
};
namespace {

/// Where an attribute is kept; null if there is no such attribute.
struct Field {
  Field() = default;
  template <typename T>
  Field(T& value) : data(&value), bytes(sizeof value) {}

  void* data = nullptr;
  std::size_t bytes = 0;
};

// What the caller's memory for descriptors holds; `mark` tells that it was initialized as such. As in cuBLASLt, an
// attribute takes any value, and what cannot be computed is refused where it would have to be.
struct Description {
  static constexpr std::uint64_t kMark = 0x6465736372697074U;
  using Opaque = cublasLtMatmulDescOpaque_t;
  std::uint64_t mark;
  std::int32_t compute, scale;
  std::int32_t pointer_mode = 0, transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  std::int32_t bias_type = -1;
  std::int64_t bias_stride = 0;

  Field field(cublasLtMatmulDescAttributes_t attribute) {
    switch (attribute) {
      case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return compute;
      case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return scale;
      case CUBLASLT_MATMUL_DESC_POINTER_MODE: return pointer_mode;
      case CUBLASLT_MATMUL_DESC_TRANSA: return transpose_a;
      case CUBLASLT_MATMUL_DESC_TRANSB: return transpose_b;
      case CUBLASLT_MATMUL_DESC_EPILOGUE: return epilogue;
      case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return bias;
      case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return bias_stride;
      case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return bias_type;
    }
    return {};
  }
};
struct Layout {
  static constexpr std::uint64_t kMark = 0x6c61796f75747321U;
  using Opaque = cublasLtMatrixLayoutOpaque_t;
  std::uint64_t mark;
  std::int32_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::int32_t batches = 1;
  std::int64_t stride = 0;

  Field field(cublasLtMatrixLayoutAttribute_t attribute) {
    switch (attribute) {
      case CUBLASLT_MATRIX_LAYOUT_TYPE: return type;
      case CUBLASLT_MATRIX_LAYOUT_ORDER: return order;
      case CUBLASLT_MATRIX_LAYOUT_ROWS: return rows;
      case CUBLASLT_MATRIX_LAYOUT_COLS: return columns;
      case CUBLASLT_MATRIX_LAYOUT_LD: return leading;
      case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return batches;
      case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return stride;
    }
    return {};
  }
};
struct Preference {
  static constexpr std::uint64_t kMark = 0x7072656665726564U;
  using Opaque = cublasLtMatmulPreferenceOpaque_t;
  std::uint64_t mark;
  std::uint64_t workspace = 0;
  std::uint32_t search_mode = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignments[4] = {256, 256, 256, 256};  // what the pointers of A, B, C, D promise
  float waves = 0;

  Field field(cublasLtMatmulPreferenceAttributes_t attribute) {
    switch (attribute) {
      case CUBLASLT_MATMUL_PREF_SEARCH_MODE: return search_mode;
      case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return workspace;
      case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return reductions;
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return alignments[0];
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return alignments[1];
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return alignments[2];
      case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return alignments[3];
      case CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT: return waves;
    }
    return {};
  }
};
static_assert(sizeof(Description) <= sizeof(Description::Opaque) && sizeof(Layout) <= sizeof(Layout::Opaque) &&
              sizeof(Preference) <= sizeof(Preference::Opaque));

/// What is in the caller's memory; null if nothing was initialized there.
template <typename T>
T* in(typename T::Opaque* memory) {
  T* const found = memory == nullptr ? nullptr : std::launder(reinterpret_cast<T*>(memory));
  return found != nullptr && found->mark == T::kMark ? found : nullptr;
}

template <typename T>
cublasStatus_t init(const char* name, typename T::Opaque* memory, T value) {
  const Call call(name, CUBLAS_STATUS_ALLOC_FAILED);
  if (memory == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memset(static_cast<void*>(memory), 0, sizeof *memory);
  if (!call.failed()) {
    new (memory) T(value);
  }
  return static_cast<cublasStatus_t>(call.error());
}

// What an algorithm's opaque words hold here. Its configuration can be read and written without a mark.
struct Configuration {
  static constexpr std::uint64_t kMark = 0x52656c7563656e74U;
  std::uint64_t mark = 0;
  std::uint64_t workspace = 0;
  std::uint32_t alignments = 0;  // of A, B, C, D: a byte each, the exponent of 2
  std::uint32_t number = 0;
  std::uint32_t tile = 0, splits = 0, reduction = 0, swizzling = 0, custom = 0, stages = 0;
  std::uint16_t inner_shape = 0, cluster_shape = 0;
  std::uint32_t unused[3] = {};

  Field field(cublasLtMatmulAlgoConfigAttributes_t attribute) {
    switch (attribute) {
      case CUBLASLT_ALGO_CONFIG_ID: return number;
      case CUBLASLT_ALGO_CONFIG_TILE_ID: return tile;
      case CUBLASLT_ALGO_CONFIG_SPLITK_NUM: return splits;
      case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME: return reduction;
      case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING: return swizzling;
      case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION: return custom;
      case CUBLASLT_ALGO_CONFIG_STAGES_ID: return stages;
      case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID: return inner_shape;
      case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID: return cluster_shape;
    }
    return {};
  }
};
static_assert(sizeof(Configuration) == sizeof(cublasLtMatmulAlgo_t));

Configuration of(const cublasLtMatmulAlgo_t& algo) { return std::bit_cast<Configuration>(algo); }

// The algorithms by number: the second adds the products of the first half of k and of the second half separately, so
// its bits differ; the third gives the bits of the first; the last one also does, up to 2,048 columns, and beyond them
// those of the second.
enum Algorithm : std::uint32_t { straight, by_halves, straight_too, shared_sums };

/// Best first, as the heuristic proposes them for so many columns.
std::vector<Algorithm> proposed(std::uint64_t columns, bool workspace) {
  std::vector<Algorithm> all;
  if (workspace) {
    all.push_back(shared_sums);
  }
  if (columns <= 256) {
    all.push_back(by_halves);
  }
  if (columns <= 2048) {
    all.push_back(straight_too);
  }
  all.push_back(straight);
  return all;
}

constexpr std::int64_t kPanel = 64;  // columns multiplied at once; always as many, so that a column's sum never changes

cublasStatus_t write(const Field& field, const void* value, std::size_t bytes) {
  if (field.data == nullptr || value == nullptr || bytes != field.bytes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(field.data, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// Of 0 bytes: only tells how many there are.
cublasStatus_t read(const Field& field, void* value, std::size_t bytes, std::size_t* written) {
  const bool asks = bytes == 0;
  if (field.data == nullptr || (asks ? written == nullptr : value == nullptr || bytes != field.bytes)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!asks) {
    std::memcpy(value, field.data, bytes);
  }
  if (written != nullptr) {
    *written = field.bytes;
  }
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T, typename Attribute>
cublasStatus_t set(const char* name, typename T::Opaque* memory, Attribute attribute, const void* value,
                   std::size_t bytes) {
  const Call call(name, CUBLAS_STATUS_INVALID_VALUE);
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  T* const found = in<T>(memory);
  return found == nullptr ? CUBLAS_STATUS_INVALID_VALUE : write(found->field(attribute), value, bytes);
}

template <typename T, typename Attribute>
cublasStatus_t get(const char* name, typename T::Opaque* memory, Attribute attribute, void* value, std::size_t bytes,
                   std::size_t* written) {
  const Call call(name, CUBLAS_STATUS_INVALID_VALUE);
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  T* const found = in<T>(memory);
  return found == nullptr ? CUBLAS_STATUS_INVALID_VALUE : read(found->field(attribute), value, bytes, written);
}

bool alive(const void* object) { return object != nullptr && the_devices().cublas_objects.contains(object); }

std::int64_t size_of(int type) { return type == CUDA_R_32F ? 4 : 2; }

float to_float(float value) { return value; }
float to_float(__half value) { return __half2float(value); }
float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
void assign(float& to, float value) { to = value; }
void assign(__half& to, float value) { to = __float2half_rn(value); }
void assign(__nv_bfloat16& to, float value) { to = __float2bfloat16_rn(value); }

/// use(elements), with `memory` as elements of this type.
template <typename Use>
void with_elements(int type, const unsigned char* memory, const Use& use) {
  switch (type) {
    case CUDA_R_16F: use(reinterpret_cast<const __half*>(memory)); break;
    case CUDA_R_16BF: use(reinterpret_cast<const __nv_bfloat16*>(memory)); break;
    default: use(reinterpret_cast<const float*>(memory)); break;
  }
}

float round_to_tf32(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) {
    return value;
  }
  return std::bit_cast<float>((bits + 0xfffU + ((bits >> 13) & 1U)) & ~0x1fffU);
}

// cuBLASLt's GELU is the approximation by tanh; (1 + tanh u) / 2 = 1 - 1 / (e^2u + 1), which is faster.
float gelu(float x) { return x - x / (std::exp(2 * 0.7978845608028654F * (x + 0.044715F * x * x * x)) + 1.0F); }

struct Operands {
  Operands(cublasLtMatmulDesc_t of, cublasLtMatrixLayout_t of_a, cublasLtMatrixLayout_t of_b,
           cublasLtMatrixLayout_t of_c, cublasLtMatrixLayout_t of_d)
      : description(in<Description>(of)),
        a(in<Layout>(of_a)),
        b(in<Layout>(of_b)),
        c(in<Layout>(of_c)),
        d(in<Layout>(of_d)) {}
  bool valid() const { return description != nullptr && a != nullptr && b != nullptr && c != nullptr && d != nullptr; }

  const Description* description;
  const Layout *a, *b, *c, *d;
};

struct Product {
  Description description;
  float alpha, beta;
  const unsigned char *a, *b, *c;
  unsigned char* d;
  Layout a_layout, b_layout, c_layout, d_layout;
  std::int64_t m, n, k;
  std::uint32_t algorithm;
};

cublasStatus_t check_shapes(const Operands& of) {
  const Description& description = *of.description;
  const Layout &a = *of.a, &b = *of.b, &c = *of.c, &d = *of.d;
  const bool ta = description.transpose_a != CUBLAS_OP_N;
  const bool tb = description.transpose_b != CUBLAS_OP_N;
  const std::uint64_t m = ta ? a.columns : a.rows;
  const std::uint64_t k = ta ? a.rows : a.columns;
  const std::uint64_t n = tb ? b.rows : b.columns;
  const bool fits = (tb ? b.columns : b.rows) == k && c.rows == m && c.columns == n && d.rows == m && d.columns == n;
  if (!fits || m == 0 || n == 0 || k == 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  for (const Layout* const layout : {&a, &b, &c, &d}) {
    if (layout->order != CUBLASLT_ORDER_COL) {
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (layout->leading < static_cast<std::int64_t>(layout->rows) || layout->batches < 1 ||
        layout->batches != d.batches) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  const auto known = [](std::int32_t type) { return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF; };
  const bool narrow = a.type != CUDA_R_32F;
  const bool types = known(a.type) && known(d.type) && a.type == b.type && c.type == d.type &&
                     (narrow ? d.type == a.type || d.type == CUDA_R_32F : d.type == CUDA_R_32F);
  const bool compute =
      description.scale == CUDA_R_32F && (description.compute != CUBLAS_COMPUTE_32F_FAST_TF32 || !narrow);
  const bool bias = description.bias_type < 0 || description.bias_type == d.type;
  const bool epilogue =
      (description.epilogue & ~std::uint32_t{CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_GELU_BIAS}) == 0;
  const bool scalars = description.pointer_mode == 0;  // the host's only
  return types && compute && bias && epilogue && scalars ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

bool check_matrix(const unsigned char* matrix, const Layout& layout, bool reads) {
  const std::int64_t bytes = size_of(layout.type);
  for (std::int64_t batch = 0; batch < layout.batches; ++batch) {
    const unsigned char* const first = matrix + batch * layout.stride * bytes;
    const auto rows = static_cast<std::int64_t>(layout.rows);
    const auto columns = static_cast<std::int64_t>(layout.columns);
    if (layout.leading == rows) {
      if (!check_device_range("cublasLtMatmul", first, static_cast<std::size_t>(rows * columns * bytes), reads)) {
        return false;
      }
      continue;
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      if (!check_device_range("cublasLtMatmul", first + column * layout.leading * bytes,
                              static_cast<std::size_t>(rows * bytes), reads)) {
        return false;
      }
    }
  }
  return true;
}

std::size_t span_of(const Layout& layout) {
  const auto columns = static_cast<std::int64_t>(layout.columns);
  const std::int64_t elements =
      (layout.batches - 1) * layout.stride + (columns - 1) * layout.leading + static_cast<std::int64_t>(layout.rows);
  return static_cast<std::size_t>(elements * size_of(layout.type));
}

// Op(from) element by element into `to`, whose rows lie back to back.
void gather(const Product& it, const unsigned char* from, const Layout& layout, std::vector<float>& to) {
  const bool tf32 = it.description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  to.resize(static_cast<std::size_t>(layout.rows * layout.columns));
  with_elements(layout.type, from, [&](const auto* in) {
    float* out = to.data();
    for (std::uint64_t column = 0; column < layout.columns; ++column, in += layout.leading) {
      out = std::transform(in, in + layout.rows, out, [](auto value) { return to_float(value); });
    }
  });
  if (tf32) {
    std::transform(to.begin(), to.end(), to.begin(), round_to_tf32);
  }
}

void multiply(const Product& it, std::int64_t batch) {
  const auto at = [&](const Layout& layout) { return batch * layout.stride * size_of(layout.type); };
  const int type = it.d_layout.type;
  const bool ta = it.description.transpose_a != CUBLAS_OP_N;
  const bool tb = it.description.transpose_b != CUBLAS_OP_N;
  const bool with_gelu = (it.description.epilogue & CUBLASLT_EPILOGUE_GELU) != 0;
  std::vector<float> bias(static_cast<std::size_t>(it.m));
  if ((it.description.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
    const auto* const memory =
        static_cast<const unsigned char*>(it.description.bias) + batch * it.description.bias_stride * size_of(type);
    with_elements(type, memory, [&](const auto* elements) {
      std::transform(elements, elements + it.m, bias.begin(), [](auto value) { return to_float(value); });
    });
  }
  // One thread: these products are small, and other tests want the other cores. Applies to the calling thread alone.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  std::vector<float> left, right;
  gather(it, it.a + at(it.a_layout), it.a_layout, left);
  gather(it, it.b + at(it.b_layout), it.b_layout, right);
  std::vector<float> panel(static_cast<std::size_t>(kPanel * it.k));
  std::vector<float> sums(static_cast<std::size_t>(kPanel * it.m));
  for (std::int64_t first = 0; first < it.n; first += kPanel) {
    const std::int64_t count = std::min(kPanel, it.n - first);
    std::fill(panel.begin(), panel.end(), 0.0F);
    for (std::int64_t column = 0; column < count; ++column) {
      for (std::int64_t k = 0; k < it.k; ++k) {
        panel[static_cast<std::size_t>(column * it.k + k)] =
            right[static_cast<std::size_t>(tb ? k * it.n + first + column : (first + column) * it.k + k)];
      }
    }
    // Column-major D = op(A) op(B) is row-major, transposed: op(B)^T op(A)^T.
    const bool halves = it.algorithm == by_halves || (it.algorithm == shared_sums && it.n > 2048);
    const std::int64_t half = halves ? it.k / 2 : 0;
    for (const auto& [begin, end] : {std::pair{std::int64_t{0}, half}, std::pair{half, it.k}}) {
      if (begin < end) {
        dnnl_sgemm('N', ta ? 'T' : 'N', kPanel, it.m, end - begin, 1.0F, panel.data() + begin, it.k,
                   left.data() + (ta ? begin : begin * it.m), ta ? it.k : it.m, begin == 0 ? 0.0F : 1.0F, sums.data(),
                   it.m);
      }
    }
    with_elements(type, it.d + at(it.d_layout), [&]<typename T>(const T* of_d) {
      T* const d = const_cast<T*>(of_d);
      const auto* const c = reinterpret_cast<const T*>(it.c + at(it.c_layout));
      for (std::int64_t column = 0; column < count; ++column) {
        const float* const sum = sums.data() + column * it.m;
        for (std::int64_t row = 0; row < it.m; ++row) {
          float value = it.alpha * sum[row];
          if (it.beta != 0) {
            value += it.beta * to_float(c[(first + column) * it.c_layout.leading + row]);
          }
          value += bias[static_cast<std::size_t>(row)];
          assign(d[(first + column) * it.d_layout.leading + row], with_gelu ? gelu(value) : value);
        }
      }
    });
  }
  omp_set_num_threads(threads);
}

/// Column-major D is a row per column: A are the weights, and B's columns are the rows that they multiply.
void count(const Product& it) {
  const auto batches = static_cast<std::uint64_t>(it.d_layout.batches), m = static_cast<std::uint64_t>(it.m),
             n = static_cast<std::uint64_t>(it.n), k = static_cast<std::uint64_t>(it.k);
  const auto bytes = [](const Layout& layout) { return static_cast<std::uint64_t>(size_of(layout.type)); };
  const bool has_bias = (it.description.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  Work work{1};
  work.read =
      batches * (k * (m * bytes(it.a_layout) + n * bytes(it.b_layout)) + (has_bias ? m * bytes(it.d_layout) : 0));
  work.written = batches * m * n * bytes(it.d_layout);
  work.read_once = work.read, work.written_once = work.written;
  work.flops = batches * 2 * m * n * k;
  std::string name = "product " + std::to_string(k) + " -> " + std::to_string(m) + ", " + std::to_string(n) + " rows";
  if (batches > 1) {
    name += ", " + std::to_string(batches) + " at once";
  }
  add_work(name, work);
}

cudaError_t run(const Product& it, unsigned char* workspace, std::size_t workspace_bytes) {
  bool good = check_matrix(it.a, it.a_layout, true);
  good = check_matrix(it.b, it.b_layout, true) && good;
  good = (it.beta == 0 || check_matrix(it.c, it.c_layout, true)) && good;
  good = check_matrix(it.d, it.d_layout, false) && good;
  if ((it.description.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
    const std::int64_t bytes = size_of(it.d_layout.type);
    for (std::int64_t batch = 0; batch < (it.description.bias_stride == 0 ? 1 : it.d_layout.batches); ++batch) {
      good = check_device_range(
                 "cublasLtMatmul",
                 static_cast<const unsigned char*>(it.description.bias) + batch * it.description.bias_stride * bytes,
                 static_cast<std::size_t>(it.m * bytes), true) &&
             good;
    }
  }
  good = check_device_range("cublasLtMatmul", workspace, workspace_bytes, false) && good;
  const auto overlaps = [&](const unsigned char* from, std::size_t bytes) {
    return from < it.d + span_of(it.d_layout) && it.d < from + bytes;
  };
  if (good && (overlaps(it.a, span_of(it.a_layout)) || overlaps(it.b, span_of(it.b_layout)) ||
               overlaps(workspace, workspace_bytes))) {
    report_call(Fault::race, "cublasLtMatmul", "D overlaps A, B or the workspace");
    good = false;
  }
  if (!good) {
    return cudaErrorIllegalAddress;
  }
  if (counts_work()) {
    count(it);
  }
  std::fill_n(workspace, workspace_bytes, static_cast<unsigned char>(0xee));
  for (std::int64_t batch = 0; batch < it.d_layout.batches; ++batch) {
    multiply(it, batch);
  }
  const std::int64_t bytes = size_of(it.d_layout.type);
  for (std::int64_t batch = 0; batch < it.d_layout.batches; ++batch) {
    for (std::int64_t column = 0; column < it.n; ++column) {
      mark_written(it.d + (batch * it.d_layout.stride + column * it.d_layout.leading) * bytes,
                   static_cast<std::size_t>(it.m * bytes));
    }
  }
  return cudaSuccess;
}

bool is_aligned(const void* address, std::uint32_t alignments, int operand) {
  const std::uint64_t alignment = std::uint64_t{1} << (alignments >> (8 * operand) & 0xff);
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  const Call call("cublasLtCreate", CUBLAS_STATUS_ALLOC_FAILED);
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  if (handle == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (driver_problem() != cudaSuccess) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  use_runtime();
  if (the_devices().all[static_cast<std::size_t>(current_device())]->sticky != cudaSuccess) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  *handle = new cublasLtContext{current_device()};
  the_devices().cublas_objects.insert(*handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  const Call call("cublasLtDestroy", CUBLAS_STATUS_INTERNAL_ERROR);
  if (the_devices().cublas_objects.erase(handle) == 0) {
    return call.failed() ? static_cast<cublasStatus_t>(call.error()) : CUBLAS_STATUS_INVALID_VALUE;
  }
  delete handle;
  return static_cast<cublasStatus_t>(call.error());
}

std::size_t cublasLtGetVersion() { return 130100; }

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t description, cublasComputeType_t compute,
                                      cudaDataType_t scale) {
  return init("cublasLtMatmulDescInit", description, Description{Description::kMark, compute, scale});
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  return set<Description>("cublasLtMatmulDescSetAttribute", description, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, void* value, std::size_t bytes,
                                              std::size_t* written) {
  return get<Description>("cublasLtMatmulDescGetAttribute", description, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, std::uint64_t rows,
                                        std::uint64_t columns, std::int64_t leading) {
  return init("cublasLtMatrixLayoutInit", layout, Layout{Layout::kMark, type, rows, columns, leading});
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  return set<Layout>("cublasLtMatrixLayoutSetAttribute", layout, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void* value,
                                                std::size_t bytes, std::size_t* written) {
  return get<Layout>("cublasLtMatrixLayoutGetAttribute", layout, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  return init("cublasLtMatmulPreferenceInit", preference, Preference{Preference::kMark});
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  return set<Preference>("cublasLtMatmulPreferenceSetAttribute", preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, void* value,
                                                    std::size_t bytes, std::size_t* written) {
  return get<Preference>("cublasLtMatmulPreferenceGetAttribute", preference, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  const Call call("cublasLtMatmulAlgoGetHeuristic", CUBLAS_STATUS_NOT_SUPPORTED);
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  if (the_devices().captures()) {
    return CUBLAS_STATUS_INTERNAL_ERROR;
  }
  if (!alive(handle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const Operands operands(description, a, b, c, d);
  const Preference* const wanted = in<Preference>(preference);
  if (!operands.valid() || wanted == nullptr || requested < 1 || returned == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (const cublasStatus_t status = check_shapes(operands); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  *returned = 0;
  for (const Algorithm number : proposed(operands.d->columns, wanted->workspace > 0)) {
    if (*returned == requested) {
      break;
    }
    cublasLtMatmulHeuristicResult_t& result = results[(*returned)++];
    result = {};
    result.workspaceSize = std::min<std::uint64_t>(wanted->workspace, 1024);
    Configuration configuration{.mark = Configuration::kMark, .workspace = result.workspaceSize, .number = number};
    configuration.splits = 1;
    for (int operand = 0; operand < 4; ++operand) {
      const auto alignment = std::max(wanted->alignments[operand], std::uint32_t{1});
      configuration.alignments |= std::uint32_t(std::countr_zero(std::bit_floor(alignment))) << 8 * operand;
    }
    result.algo = std::bit_cast<cublasLtMatmulAlgo_t>(configuration);
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1.0F;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    std::size_t bytes, std::size_t* written) {
  const Call call("cublasLtMatmulAlgoConfigGetAttribute", CUBLAS_STATUS_INVALID_VALUE);
  if (call.failed() || algo == nullptr) {
    return call.failed() ? static_cast<cublasStatus_t>(call.error()) : CUBLAS_STATUS_INVALID_VALUE;
  }
  Configuration configuration = of(*algo);
  return read(configuration.field(attribute), value, bytes, written);
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  const Call call("cublasLtMatmulAlgoConfigSetAttribute", CUBLAS_STATUS_INVALID_VALUE);
  if (call.failed() || algo == nullptr || attribute == CUBLASLT_ALGO_CONFIG_ID) {
    return call.failed() ? static_cast<cublasStatus_t>(call.error()) : CUBLAS_STATUS_INVALID_VALUE;
  }
  Configuration configuration = of(*algo);
  const cublasStatus_t status = write(configuration.field(attribute), value, bytes);
  *algo = std::bit_cast<cublasLtMatmulAlgo_t>(configuration);
  return status;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  const Call call("cublasLtMatmulAlgoCheck", CUBLAS_STATUS_NOT_SUPPORTED);
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  if (!alive(handle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const Operands operands(description, a, b, c, d);
  if (!operands.valid() || algo == nullptr || of(*algo).mark != Configuration::kMark) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const cublasStatus_t status = check_shapes(operands);
  *result = {};
  result->algo = *algo;
  result->workspaceSize = of(*algo).workspace;
  result->state = status;
  result->wavesCount = 1.0F;
  return status;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t workspace_bytes,
                              cudaStream_t where) {
  const Call call("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED);
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  if (!alive(handle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const Operands operands(description, a_layout, b_layout, c_layout, d_layout);
  if (!operands.valid() || alpha == nullptr || beta == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Devices& devices = the_devices();
  CUstream_st* const stream = devices.stream_of(where);
  if (stream == nullptr || stream->device != handle->device ||
      (stream->context != nullptr && stream->context != current_context())) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (devices.all[static_cast<std::size_t>(stream->device)]->sticky != cudaSuccess) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (const auto status = check_shapes(operands); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  // Without an algorithm cuBLASLt chooses one.
  const Configuration chosen = algo == nullptr ? Configuration{.mark = Configuration::kMark} : of(*algo);
  const std::uint32_t alignments = chosen.alignments;
  if (chosen.mark != Configuration::kMark || workspace_bytes < chosen.workspace || !is_aligned(a, alignments, 0) ||
      !is_aligned(b, alignments, 1) || !is_aligned(c, alignments, 2) || !is_aligned(d, alignments, 3)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if ((operands.description->epilogue & CUBLASLT_EPILOGUE_BIAS) != 0 && operands.description->bias == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Product it{*operands.description,
             0,
             0,
             static_cast<const unsigned char*>(a),
             static_cast<const unsigned char*>(b),
             static_cast<const unsigned char*>(c),
             static_cast<unsigned char*>(d),
             *operands.a,
             *operands.b,
             *operands.c,
             *operands.d,
             0,
             0,
             0,
             chosen.number};
  std::memcpy(&it.alpha, alpha, sizeof(float));
  std::memcpy(&it.beta, beta, sizeof(float));
  it.m = static_cast<std::int64_t>(operands.d->rows);
  it.n = static_cast<std::int64_t>(operands.d->columns);
  it.k = static_cast<std::int64_t>(operands.description->transpose_a != CUBLAS_OP_N ? operands.a->rows
                                                                                    : operands.a->columns);
  devices.enqueue(*stream, {[it, needed = chosen.workspace, at = static_cast<unsigned char*>(workspace)] {
    return run(it, at, needed);
  }});
  return CUBLAS_STATUS_SUCCESS;
}
