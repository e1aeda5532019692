#include "kernels/cuda/matmul.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>

#include "kernels/cuda/launch_graphs.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

constexpr float kOne = 1, kZero = 0;

std::size_t bucket_of(int rows) {
  std::size_t bucket = 0;
  while (rows > kRowBuckets[bucket].most) ++bucket;
  return bucket;
}

bool same(const cublasLtMatmulAlgo_t& a, const cublasLtMatmulAlgo_t& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// The algorithms chosen in this process, by GPU: the next encoder on the same one tries none again. Thread-safe.
class TriedAlgorithms {
 public:
  static TriedAlgorithms& of_process() {
    static TriedAlgorithms tried;
    return tried;
  }

  std::optional<MatmulAlgorithms> find(std::string_view gpu, const MatmulForm& form) const {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(all_, [&](const Tried& tried) { return tried.is(gpu, form); });
    return known == all_.end() ? std::nullopt : std::optional(known->algorithms);
  }

  void add(std::string_view gpu, const MatmulForm& form, const MatmulAlgorithms& algorithms) {
    const std::lock_guard lock(mutex_);
    all_.push_back({std::string(gpu), form, algorithms});
  }

 private:
  struct Tried {
    std::string gpu;
    MatmulForm form;
    MatmulAlgorithms algorithms;

    bool is(std::string_view other_gpu, const MatmulForm& other_form) const {
      return form == other_form && gpu == other_gpu;
    }
  };

  mutable std::mutex mutex_;
  std::vector<Tried> all_;
};

}  // namespace

MatmulLibrary::MatmulLibrary(int device) : device_(device) {
  // What NVIDIA recommends for Hopper and its successors, whose products do without only at some cost.
  constexpr int hopper = 9;
  constexpr std::size_t most = std::size_t{32} << 20;
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device), device, "querying the device");
  if (properties.major >= hopper) workspace_bytes_ = most;
  uuid_.assign(properties.uuid.bytes, sizeof properties.uuid.bytes);
  check(cublasLtCreate(&handle_), device, "starting cublasLt");
}
MatmulLibrary::~MatmulLibrary() { cublasLtDestroy(handle_); }

std::vector<std::string> MatmulLibrary::algorithms() const {
  std::vector<std::string> lines;
  for (const auto& [form, of] : chosen_) {
    std::string line =
        fmt::format("{} -> {}{}{}{}:", form.in, form.out, form.bias != nullptr ? ", bias" : "",
                    form.gelu ? ", GELU" : "", form.batch > 1 ? fmt::format(", {} at once", form.batch) : "");
    for (std::size_t first = 0; first < of.size();) {
      std::size_t last = first;
      while (last + 1 < of.size() && same(of[last + 1], of[first])) ++last;
      line += last + 1 == of.size() ? (first == 0 ? " always " : " else ")
                                    : fmt::format(" up to {} rows ", kRowBuckets[last].most);
      line += describe_algorithm(of[first], device_);
      line += last + 1 == of.size() ? "" : ",";
      first = last + 1;
    }
    lines.push_back(line);
  }
  return lines;
}

/// Runs one form's algorithms on the same random rows and compares their bits.
class Matmul::Trial {
 public:
  explicit Trial(const Matmul& product)
      : product_(product),
        device_(product.library_.device()),
        compared_(std::max(kFewRows, kElements / (product.form_.out * product.form_.batch))),
        rows_(product.library_.workspace_bytes() > 0 ? std::vector{1, kFewRows, 1024, compared_, 16384}
                                                     : std::vector{1, compared_}),
        row_bytes_(static_cast<std::size_t>(product.form_.y_stride) * y_size(product.form_)),
        stream_(device_),
        x_(device_, x_bytes(), "a trial of products"),
        y_(device_, static_cast<std::size_t>(rows_.back()) * row_bytes_, "a trial of products"),
        workspace_(device_, product.library_.workspace_bytes(), "a trial of products") {
    // Products write no elements between one row's outputs and the next row, but whole rows are compared.
    cuda::check(cudaMemsetAsync(y_.data(), 0, static_cast<std::size_t>(rows_.back()) * row_bytes_, stream_), device_,
                "preparing a trial of products");
    fill_with_numbers(x_.data(), x_bytes(), product.form_.element, stream_);
  }

  /// Takes its bits as the expected ones; whether it gives them for every number of rows.
  bool expect(const cublasLtMatmulAlgo_t& algorithm) {
    expected_ = result(algorithm, compared_);
    return gives_expected(algorithm);
  }

  bool gives_expected(const cublasLtMatmulAlgo_t& algorithm) {
    return std::all_of(rows_.begin(), rows_.end(), [&](int rows) {
      const std::vector<std::byte> bytes = result(algorithm, rows);
      return !bytes.empty() && bytes.size() <= expected_.size() &&
             std::memcmp(bytes.data(), expected_.data(), bytes.size()) == 0;
    });
  }

 private:
  // In 16 bits one of some thousand elements tells one order of a sum from another.
  static constexpr int kElements = 1 << 17;
  static constexpr int kFewRows = 144;

  std::size_t x_bytes() const {
    return static_cast<std::size_t>(rows_.back()) * static_cast<std::size_t>(product_.form_.x_stride) *
           size_of(product_.form_.element);
  }

  /// The first rows of y; empty if cublasLt does not compute that many rows by this algorithm after all.
  std::vector<std::byte> result(const cublasLtMatmulAlgo_t& algorithm, int rows) {
    const cublasStatus_t status = product_.start(algorithm, x_.data(), y_.data(), rows, workspace_.data(), stream_);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
    check(status, device_, "trying an algorithm");
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(rows, compared_)) * row_bytes_);
    stream_.copy_to_host(bytes.data(), y_.data(), bytes.size());
    stream_.wait();
    return bytes;
  }

  const Matmul& product_;
  int device_;
  int compared_;  // rows
  // Numbers of rows to try. Without a workspace an algorithm sums each element in one place, in the same order for any
  // number of rows. With one, several blocks may share a sum, and how they do may depend on the number of rows.
  std::vector<int> rows_;
  std::size_t row_bytes_;
  Stream stream_;
  DeviceMemory x_, y_, workspace_;
  std::vector<std::byte> expected_;
};

Matmul::Matmul(MatmulLibrary& library, const MatmulForm& form)
    : library_(library),
      form_(form),
      description_(describe_product(form, library.device())),
      weight_(layout_of_weight(form, library.device())) {
  const MatmulForm key = without_addresses(form);
  auto known = std::find_if(library.chosen_.begin(), library.chosen_.end(),
                            [&](const auto& chosen) { return chosen.first == key; });
  if (known == library.chosen_.end()) known = library.chosen_.insert(known, {key, choose_algorithms(key)});
  algorithms_ = known->second;
}

MatmulAlgorithms Matmul::choose_algorithms(const MatmulForm& key) const {
  TriedAlgorithms& tried = TriedAlgorithms::of_process();
  if (const auto known = tried.find(library_.uuid_, key)) return *known;
  const std::lock_guard alone(recording());
  std::unique_ptr<Trial> trial;
  try {
    trial = std::make_unique<Trial>(*this);
  } catch (const OutOfMemory&) {
    // The usual number's algorithm for all, untried.
  }
  const cublasLtMatmulAlgo_t usual = [&] {
    for (const int rows : {form_.usual_rows, 128, 1}) {
      for (const cublasLtMatmulAlgo_t& algorithm : proposals(rows)) {
        if (trial == nullptr || trial->expect(algorithm)) return algorithm;
      }
    }
    throw Error(ErrorKind::device, device_name(library_.device()),
                fmt::format("cublasLt has no algorithm for a product of {} by {} features", form_.in, form_.out),
                "use another precision or device = \"cpu\"");
  }();
  MatmulAlgorithms chosen;
  chosen.fill(usual);
  for (std::size_t bucket = 0; trial != nullptr && bucket < chosen.size(); ++bucket) {
    if (bucket == bucket_of(form_.usual_rows)) continue;
    for (const cublasLtMatmulAlgo_t& algorithm : proposals(kRowBuckets[bucket].chosen_for)) {
      if (!same(algorithm, usual) && !trial->gives_expected(algorithm)) continue;
      chosen[bucket] = algorithm;
      break;
    }
  }
  if (trial != nullptr) tried.add(library_.uuid_, key, chosen);
  return chosen;
}

std::vector<cublasLtMatmulAlgo_t> Matmul::proposals(int rows) const {
  const int device = library_.device();
  cublasLtMatmulPreferenceOpaque_t preference = describe_preference(form_, library_.workspace_bytes(), device);
  std::array<cublasLtMatmulHeuristicResult_t, 32> found{};
  int count = 0;
  cublasLtMatrixLayoutOpaque_t x = layout_of_x(form_, rows, device), y = layout_of_y(form_, rows, device);
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library_.handle(), &description_, &weight_, &x, &y, &y, &preference,
                                     static_cast<int>(found.size()), found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, device, "choosing an algorithm");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const bool good =
        found[i].state == CUBLAS_STATUS_SUCCESS && sums_at_once(found[i].algo, device) && fits_all_rows(found[i].algo);
    if (good) algorithms.push_back(found[i].algo);
  }
  return algorithms;
}

bool Matmul::fits_all_rows(const cublasLtMatmulAlgo_t& algorithm) const {
  const int device = library_.device();
  for (const int rows : {1, 13, form_.usual_rows + 1}) {
    cublasLtMatrixLayoutOpaque_t x = layout_of_x(form_, rows, device), y = layout_of_y(form_, rows, device);
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status =
        cublasLtMatmulAlgoCheck(library_.handle(), &description_, &weight_, &x, &y, &y, &algorithm, &result);
    if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > library_.workspace_bytes()) return false;
  }
  return true;
}

cublasStatus_t Matmul::start(const cublasLtMatmulAlgo_t& algorithm, const void* x, void* y, int rows, void* workspace,
                             cudaStream_t stream) const {
  const int device = library_.device();
  cublasLtMatrixLayoutOpaque_t of_x = layout_of_x(form_, rows, device), of_y = layout_of_y(form_, rows, device);
  return cublasLtMatmul(library_.handle(), &description_, &kOne, form_.weight, &weight_, x, &of_x, &kZero, y, &of_y, y,
                        &of_y, &algorithm, workspace, library_.workspace_bytes(), stream);
}

void Matmul::run(const void* x, void* y, int rows, void* workspace, cudaStream_t stream) const {
  check(start(algorithms_[bucket_of(rows)], x, y, rows, workspace, stream), library_.device(), "starting a product");
}

void fill_with_numbers(std::byte* memory, std::size_t bytes, Element element, Stream& stream) {
  std::mt19937 random(1);
  std::vector<std::byte> block(std::min<std::size_t>(bytes, 1 << 17));
  with_element(element, [&]<typename T>(T) {
    for (std::size_t at = 0; at < block.size(); at += sizeof(T)) {
      const T value = from_float<T>(static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F);
      std::memcpy(block.data() + at, &value, sizeof(T));
    }
  });
  for (std::size_t at = 0; at < bytes; at += block.size()) {
    stream.copy_to_device(memory + at, block.data(), std::min(block.size(), bytes - at));
  }
  stream.wait();
}

}  // namespace relucent::cuda
