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

using namespace relucent::emulator;

struct cublasLtContext {
  int device;
};
namespace {

// What the caller's memory for descriptors holds; `mark` tells that it was initialized as such.
struct Description {
  static constexpr std::uint64_t kMark = 0x6465736372697074U;
  using Opaque = cublasLtMatmulDescOpaque_t;
  std::uint64_t mark;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  int bias_type = -1;
  std::int64_t bias_stride = 0;
};
struct Layout {
  static constexpr std::uint64_t kMark = 0x6c61796f75747321U;
  using Opaque = cublasLtMatrixLayoutOpaque_t;
  std::uint64_t mark;
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batches = 1;
  std::int64_t stride = 0;
};
struct Preference {
  static constexpr std::uint64_t kMark = 0x7072656665726564U;
  using Opaque = cublasLtMatmulPreferenceOpaque_t;
  std::uint64_t mark;
  std::uint64_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignments[4] = {256, 256, 256, 256};  // what the pointers of A, B, C, D promise
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

// What an algorithm's opaque words hold here.
constexpr std::uint64_t kAlgoMark = 0x52656c7563656e74U;
enum AlgoWord { mark_word, workspace_word, alignments_word, number_word };

// The algorithms by number: the second adds the products of the first half of k and of the second half separately, so
// its bits differ; the third gives the bits of the first; the last one does, too, up to 2,048 columns, and beyond them
// those of the second.
enum Algorithm : std::uint64_t { straight, by_halves, straight_too, shared_sums };

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

template <typename T>
cublasStatus_t set(T& field, const void* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(&field, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

bool alive(const void* object) { return object != nullptr && the_devices().cublas_objects.contains(object); }

std::int64_t size_of(int type) { return type == CUDA_R_32F ? 4 : 2; }

float load(int type, const unsigned char* from) {
  if (type == CUDA_R_32F) {
    float value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return type == CUDA_R_16F ? __half2float({bits}) : __bfloat162float({bits});
}

void store(int type, unsigned char* to, float value) {
  if (type == CUDA_R_32F) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = type == CUDA_R_16F ? __float2half_rn(value).bits : __float2bfloat16_rn(value).bits;
  std::memcpy(to, &bits, sizeof bits);
}

float round_to_tf32(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) {
    return value;
  }
  return std::bit_cast<float>((bits + 0xfffU + ((bits >> 13) & 1U)) & ~0x1fffU);
}

// cuBLASLt's GELU is the approximation by tanh.
float gelu(float x) { return 0.5F * x * (1.0F + std::tanh(0.7978845608028654F * (x + 0.044715F * x * x * x))); }

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
  std::uint64_t algorithm;
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
    if (layout->leading < static_cast<std::int64_t>(layout->rows) || layout->batches < 1 ||
        layout->batches != d.batches) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  const bool narrow = a.type != CUDA_R_32F;
  const bool types = a.type == b.type && c.type == d.type &&
                     (narrow ? d.type == a.type || d.type == CUDA_R_32F : d.type == CUDA_R_32F);
  const bool compute =
      description.scale == CUDA_R_32F && (description.compute != CUBLAS_COMPUTE_32F_FAST_TF32 || !narrow);
  const bool bias = description.bias_type < 0 || description.bias_type == d.type;
  return types && compute && bias ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
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
  const std::int64_t bytes = size_of(layout.type);
  const auto rows = static_cast<std::int64_t>(layout.rows);
  const auto columns = static_cast<std::int64_t>(layout.columns);
  const bool tf32 = it.description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  to.resize(static_cast<std::size_t>(rows * columns));
  float* out = to.data();
  for (std::int64_t column = 0; column < columns; ++column) {
    const unsigned char* const in = from + column * layout.leading * bytes;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float value = load(layout.type, in + row * bytes);
      *out++ = tf32 ? round_to_tf32(value) : value;
    }
  }
}

void multiply(const Product& it, std::int64_t batch) {
  const auto at = [&](const Layout& layout) { return batch * layout.stride * size_of(layout.type); };
  const unsigned char* const c = it.c + at(it.c_layout);
  unsigned char* const d = it.d + at(it.d_layout);
  const int type = it.d_layout.type;
  const std::int64_t bytes = size_of(type);
  const bool ta = it.description.transpose_a != CUBLAS_OP_N;
  const bool tb = it.description.transpose_b != CUBLAS_OP_N;
  const bool with_bias = (it.description.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  const bool with_gelu = (it.description.epilogue & CUBLASLT_EPILOGUE_GELU) != 0;
  const auto* const bias =
      static_cast<const unsigned char*>(it.description.bias) + batch * it.description.bias_stride * bytes;
  // One thread: these products are small, and other tests want the other cores. Of the calling thread alone.
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
    for (std::int64_t column = 0; column < count; ++column) {
      for (std::int64_t row = 0; row < it.m; ++row) {
        float value = it.alpha * sums[static_cast<std::size_t>(column * it.m + row)];
        if (it.beta != 0) {
          value += it.beta * load(type, c + ((first + column) * it.c_layout.leading + row) * bytes);
        }
        if (with_bias) {
          value += load(type, bias + row * bytes);
        }
        store(type, d + ((first + column) * it.d_layout.leading + row) * bytes, with_gelu ? gelu(value) : value);
      }
    }
  }
  omp_set_num_threads(threads);
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

bool is_aligned(const void* address, std::uint64_t alignments, int operand) {
  const std::uint64_t alignment = std::uint64_t{1} << (alignments >> (8 * operand) & 0xff);
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  const Call call("cublasLtCreate", CUBLAS_STATUS_ALLOC_FAILED);
  *handle = nullptr;
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  const Devices& devices = the_devices();
  if (devices.all.empty() || devices.options.driver < CUDART_VERSION / 1000 * 1000) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  use_runtime();
  if (devices.all[static_cast<std::size_t>(current_device())]->sticky != cudaSuccess) {
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

std::size_t cublasLtGetVersion() { return 130000; }

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t description, cublasComputeType_t compute,
                                      cudaDataType_t scale) {
  return init("cublasLtMatmulDescInit", description, Description{Description::kMark, compute, scale});
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t memory, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  const Call call("cublasLtMatmulDescSetAttribute", CUBLAS_STATUS_INVALID_VALUE);
  Description* const description = in<Description>(memory);
  if (call.failed() || description == nullptr) {
    return call.failed() ? static_cast<cublasStatus_t>(call.error()) : CUBLAS_STATUS_INVALID_VALUE;
  }
  int number = -1;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(description->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set(description->transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(description->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return set(description->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return set(description->bias_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      if (set(number, value, bytes) != CUBLAS_STATUS_SUCCESS ||
          (number & ~(CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_GELU_BIAS)) != 0) {
        return CUBLAS_STATUS_INVALID_VALUE;
      }
      description->epilogue = number;
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:  // the host's only
      return set(number, value, bytes) == CUBLAS_STATUS_SUCCESS && number == 0 ? CUBLAS_STATUS_SUCCESS
                                                                               : CUBLAS_STATUS_NOT_SUPPORTED;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, std::uint64_t rows,
                                        std::uint64_t columns, std::int64_t leading) {
  return init("cublasLtMatrixLayoutInit", layout, Layout{Layout::kMark, type, rows, columns, leading});
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t memory,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  const Call call("cublasLtMatrixLayoutSetAttribute", CUBLAS_STATUS_INVALID_VALUE);
  Layout* const layout = in<Layout>(memory);
  if (call.failed() || layout == nullptr) {
    return call.failed() ? static_cast<cublasStatus_t>(call.error()) : CUBLAS_STATUS_INVALID_VALUE;
  }
  int number = -1;
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return set(layout->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return set(layout->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return set(layout->leading, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return set(layout->batches, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return set(layout->stride, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:  // column-major only
      return set(number, value, bytes) == CUBLAS_STATUS_SUCCESS && number == CUBLASLT_ORDER_COL
                 ? CUBLAS_STATUS_SUCCESS
                 : CUBLAS_STATUS_NOT_SUPPORTED;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  return init("cublasLtMatmulPreferenceInit", preference, Preference{Preference::kMark});
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t memory,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  const Call call("cublasLtMatmulPreferenceSetAttribute", CUBLAS_STATUS_INVALID_VALUE);
  Preference* const preference = in<Preference>(memory);
  if (call.failed() || preference == nullptr) {
    return call.failed() ? static_cast<cublasStatus_t>(call.error()) : CUBLAS_STATUS_INVALID_VALUE;
  }
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return set(preference->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return set(preference->reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return set(preference->alignments[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return set(preference->alignments[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return set(preference->alignments[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return set(preference->alignments[3], value, bytes);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  const Call call("cublasLtMatmulAlgoGetHeuristic", CUBLAS_STATUS_NOT_SUPPORTED);
  *returned = 0;
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  const Operands of(description, a, b, c, d);
  const Preference* const wanted = in<Preference>(preference);
  if (!alive(handle) || !of.valid() || wanted == nullptr || requested < 1) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (const cublasStatus_t status = check_shapes(of); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  for (const Algorithm number : proposed(of.d->columns, wanted->workspace > 0)) {
    if (*returned == requested) {
      break;
    }
    cublasLtMatmulHeuristicResult_t& result = results[(*returned)++];
    result = {};
    result.workspaceSize = std::min<std::uint64_t>(wanted->workspace, 1024);
    result.algo.data[mark_word] = kAlgoMark;
    result.algo.data[workspace_word] = result.workspaceSize;
    result.algo.data[number_word] = number;
    for (int operand = 0; operand < 4; ++operand) {
      const auto alignment = std::max(wanted->alignments[operand], std::uint32_t{1});
      result.algo.data[alignments_word] |= std::uint64_t(std::countr_zero(std::bit_floor(alignment))) << 8 * operand;
    }
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1.0F;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    std::size_t bytes, std::size_t* written_bytes) {
  const Call call("cublasLtMatmulAlgoConfigGetAttribute", CUBLAS_STATUS_INVALID_VALUE);
  if (call.failed() || algo == nullptr || algo->data[mark_word] != kAlgoMark || value == nullptr) {
    return call.failed() ? static_cast<cublasStatus_t>(call.error()) : CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto number = static_cast<std::uint32_t>(attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM ? 1
                                                 : attribute == CUBLASLT_ALGO_CONFIG_ID       ? algo->data[number_word]
                                                                                              : 0);
  const bool narrow =
      attribute == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
  const std::size_t size = narrow ? 2 : 4;
  if (bytes < size) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(value, &number, size);
  if (written_bytes != nullptr) {
    *written_bytes = size;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  const Call call("cublasLtMatmulAlgoCheck", CUBLAS_STATUS_NOT_SUPPORTED);
  if (call.failed()) {
    return static_cast<cublasStatus_t>(call.error());
  }
  const Operands of(description, a, b, c, d);
  if (!alive(handle) || !of.valid() || algo == nullptr || algo->data[mark_word] != kAlgoMark) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const cublasStatus_t status = check_shapes(of);
  *result = {};
  result->algo = *algo;
  result->workspaceSize = algo->data[workspace_word];
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
  const Operands of(description, a_layout, b_layout, c_layout, d_layout);
  if (!alive(handle) || !of.valid() || alpha == nullptr || beta == nullptr) {
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
  if (const auto status = check_shapes(of); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  std::size_t needed = 0;
  if (algo != nullptr) {
    const std::uint64_t alignments = algo->data[alignments_word];
    needed = algo->data[workspace_word];
    if (algo->data[mark_word] != kAlgoMark || workspace_bytes < needed || !is_aligned(a, alignments, 0) ||
        !is_aligned(b, alignments, 1) || !is_aligned(c, alignments, 2) || !is_aligned(d, alignments, 3)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  if ((of.description->epilogue & CUBLASLT_EPILOGUE_BIAS) != 0 && of.description->bias == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Product it{*of.description,
             0,
             0,
             static_cast<const unsigned char*>(a),
             static_cast<const unsigned char*>(b),
             static_cast<const unsigned char*>(c),
             static_cast<unsigned char*>(d),
             *of.a,
             *of.b,
             *of.c,
             *of.d,
             0,
             0,
             0,
             algo == nullptr ? straight : algo->data[number_word]};
  std::memcpy(&it.alpha, alpha, sizeof(float));
  std::memcpy(&it.beta, beta, sizeof(float));
  it.m = static_cast<std::int64_t>(of.d->rows);
  it.n = static_cast<std::int64_t>(of.d->columns);
  it.k = static_cast<std::int64_t>(of.description->transpose_a != CUBLAS_OP_N ? of.a->rows : of.a->columns);
  devices.enqueue(*stream, {[it, needed, at = static_cast<unsigned char*>(workspace)] { return run(it, at, needed); }});
  return CUBLAS_STATUS_SUCCESS;
}
