#include "model/formats/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/file/random_file.h"
#include "model/formats/safetensors_header.h"
#include "model/formats/safetensors_index.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::string_view kDouble = "F64";
constexpr const char* kDownloadAgain = "download the file again";
constexpr const char* kSameShards = "download the index and all of its files again, from the same place";

struct ElementType {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<ElementType, 15> kElementTypes{{{"F32", 4},
                                                     {"F16", 2},
                                                     {"BF16", 2},
                                                     {"F64", 8},
                                                     {"I64", 8},
                                                     {"I32", 4},
                                                     {"I16", 2},
                                                     {"I8", 1},
                                                     {"U64", 8},
                                                     {"U32", 4},
                                                     {"U16", 2},
                                                     {"U8", 1},
                                                     {"BOOL", 1},
                                                     {"F8_E4M3", 1},
                                                     {"F8_E5M2", 1}}};

[[noreturn]] void invalid(const std::filesystem::path& path, const std::string& place, const std::string& problem,
                          const std::string& remedy = kDownloadAgain) {
  throw Error(ErrorKind::invalid_data, path.string() + (place.empty() ? "" : ", " + place), problem, remedy);
}

[[noreturn]] void cut(const std::filesystem::path& path, const std::string& place) {
  invalid(path, place, "the file has become shorter since it was opened", "wait until it is whole and load it again");
}

/// The header's length, checked against the file's.
std::uint64_t header_length(const RandomFile& file) {
  constexpr std::string_view pointer = "version https://git-lfs";
  const std::filesystem::path& path = file.path();
  const auto size = static_cast<std::uint64_t>(file.size());
  std::array<char, pointer.size()> start{};
  file.read(0, start.data(), start.size());
  if (std::string_view(start.data(), start.size()) == pointer) {
    invalid(path, "", "is a Git LFS pointer, not the weights", "run `git lfs pull` in the model's repository");
  }
  if (size < kLengthFieldBytes) {
    invalid(path, fmt::format("byte {}", size), "the file ends within the header's length",
            fmt::format("{}: it has only {} bytes", kDownloadAgain, size));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthFieldBytes; ++i) {
    length |= std::uint64_t{static_cast<std::uint8_t>(start[i])} << (8 * i);
  }
  if (length > kMaxHeaderBytes) {
    invalid(path, "byte 0",
            fmt::format("states a header of {} bytes, but at most {} are allowed", length, kMaxHeaderBytes),
            "check that this is a safetensors file, or download it again");
  }
  if (length > size - kLengthFieldBytes) {
    invalid(path, fmt::format("byte {}", size), "the file ends within the header",
            fmt::format("{}: it has {} bytes, but the header alone needs {}", kDownloadAgain, size,
                        length + kLengthFieldBytes));
  }
  return length;
}

std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, bool& overflow) {
  std::uint64_t product = 0;
  overflow = overflow || __builtin_mul_overflow(a, b, &product);
  return product;
}

/// Checks that type, shape and offsets of one entry agree.
void check_entry(const std::filesystem::path& path, const SafetensorsEntry& entry) {
  const std::string place = "tensor " + entry.name;
  const auto element = safetensors_element_size(entry.type);
  if (!element) invalid(path, place, "has the unknown data type " + entry.type);
  // A dimension of zero makes the product zero, so each dimension is checked too.
  bool overflow = false;
  std::uint64_t bytes = *element;
  for (const std::uint64_t size : entry.shape) {
    overflow = overflow || size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    bytes = checked_product(bytes, size, overflow);
  }
  if (overflow) invalid(path, place, "has a shape of more than 2^64 bytes");
  if (entry.end - entry.begin != bytes) {
    invalid(path, place, fmt::format("has {} bytes, but its type and shape need {}", entry.end - entry.begin, bytes));
  }
}

/// Checks that the entries, in data order, cover the data without overlap or gap.
void check_coverage(const std::filesystem::path& path, const std::vector<SafetensorsEntry>& entries,
                    std::uint64_t header_end, std::uint64_t file_size) {
  std::uint64_t reached = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin < reached) invalid(path, "tensor " + entry.name, "overlaps the tensor before it");
    if (entry.begin > reached) {
      invalid(path, "tensor " + entry.name, fmt::format("leaves a gap of {} bytes before it", entry.begin - reached));
    }
    reached = entry.end;
  }
  const std::uint64_t available = file_size - header_end;
  if (reached == available) return;
  const bool overflow = reached > std::numeric_limits<std::uint64_t>::max() - header_end;
  const std::string remedy = fmt::format("{}: it has {} bytes, but the header states {}", kDownloadAgain, file_size,
                                         overflow ? "more than 2^64" : std::to_string(header_end + reached));
  if (reached > available) {
    const auto cut = std::find_if(entries.begin(), entries.end(),
                                  [&](const SafetensorsEntry& entry) { return entry.end > available; });
    invalid(path, "tensor " + cut->name, "the file ends before the tensor does", remedy);
  }
  invalid(path, fmt::format("byte {}", header_end + reached), "bytes follow the last tensor", remedy);
}

}  // namespace

std::optional<std::uint64_t> safetensors_element_size(std::string_view type) noexcept {
  for (const ElementType& known : kElementTypes) {
    if (known.name == type) return known.bytes;
  }
  return std::nullopt;
}

std::optional<DataType> floating_type(std::string_view type) noexcept {
  if (type == "F32" || type == kDouble) return DataType::f32;
  if (type == "F16") return DataType::f16;
  if (type == "BF16") return DataType::bf16;
  return std::nullopt;
}

const char* safetensors_name(DataType type) noexcept {
  switch (type) {
    case DataType::f32: return "F32";
    case DataType::f16: return "F16";
    case DataType::bf16: return "BF16";
  }
  return "F32";
}

/// An open file and the tensors that were read from it.
class SafetensorsFile::Contents {
 public:
  explicit Contents(const std::filesystem::path& path) : file_(path) {}

  const RandomFile& file() const noexcept { return file_; }
  /// The first byte behind the header.
  void set_start(std::uint64_t start) noexcept { start_ = start; }

  /// A tensor as it is in the file.
  std::span<const std::byte> bytes(const SafetensorsEntry& entry) {
    if (entry.begin == entry.end) return {&kNone, 0};
    const std::lock_guard lock(mutex_);
    std::unique_ptr<std::byte[]>& tensor = tensors_[entry.begin];
    if (tensor == nullptr) tensor = read(entry);
    return {tensor.get(), entry.end - entry.begin};
  }

  /// A tensor of F64 as F32.
  const std::byte* narrowed(const SafetensorsEntry& entry) {
    if (entry.begin == entry.end) return &kNone;
    const std::lock_guard lock(mutex_);
    std::vector<float>& values = narrowed_[entry.begin];
    if (values.empty()) {
      const std::unique_ptr<std::byte[]> wide = read(entry);
      values.resize((entry.end - entry.begin) / sizeof(double));
      for (std::size_t i = 0; i < values.size(); ++i) {
        double value = 0;
        std::memcpy(&value, wide.get() + i * sizeof value, sizeof value);
        values[i] = static_cast<float>(value);
      }
    }
    return reinterpret_cast<const std::byte*>(values.data());
  }

 private:
  static constexpr std::byte kNone{};  // not null, which would be an absent tensor

  std::unique_ptr<std::byte[]> read(const SafetensorsEntry& entry) const {
    const std::size_t size = entry.end - entry.begin;
    std::unique_ptr<std::byte[]> bytes(new std::byte[size]);
    const auto at = static_cast<std::int64_t>(start_ + entry.begin);
    if (file_.read(at, reinterpret_cast<char*>(bytes.get()), size) != size) cut(file_.path(), "tensor " + entry.name);
    return bytes;
  }

  RandomFile file_;
  std::uint64_t start_ = 0;
  std::mutex mutex_;
  // By their first bytes.
  std::map<std::uint64_t, std::unique_ptr<std::byte[]>> tensors_;
  std::map<std::uint64_t, std::vector<float>> narrowed_;
};

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  const auto contents = std::make_shared<Contents>(path);
  const RandomFile& bytes = contents->file();
  const auto size = static_cast<std::uint64_t>(bytes.size());
  const std::uint64_t length = header_length(bytes);
  std::string json(length, '\0');
  if (bytes.read(kLengthFieldBytes, json.data(), json.size()) != length) cut(path, "the header");
  contents->set_start(kLengthFieldBytes + length);
  SafetensorsHeader header = parse_safetensors_header(json, path);
  for (const SafetensorsEntry& entry : header.entries) check_entry(path, entry);
  std::sort(header.entries.begin(), header.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  check_coverage(path, header.entries, kLengthFieldBytes + length, size);

  SafetensorsFile file;
  file.path_ = path;
  file.file_bytes_ = size;
  file.entries_ = std::move(header.entries);
  file.metadata_ = std::move(header.metadata);
  file.files_ = {{path, contents}};
  file.index_names();
  return file;
}

SafetensorsFile SafetensorsFile::open_index(const std::filesystem::path& path) {
  const auto shards = read_safetensors_index(path);
  SafetensorsFile all;
  all.path_ = path;
  for (const auto& [name, tensors] : shards) {
    SafetensorsFile shard = open(path.parent_path() / name);
    for (const SafetensorsEntry& entry : shard.entries_) {
      if (tensors.contains(entry.name)) continue;
      invalid(shard.path_, "tensor " + entry.name,
              fmt::format("is not among those that {} states for this file", path.filename().string()), kSameShards);
    }
    for (const std::string& tensor : tensors) {
      if (shard.find(tensor) != nullptr) continue;
      invalid(shard.path_, "tensor " + tensor, fmt::format("is missing, but {} states it", path.filename().string()),
              kSameShards);
    }
    for (SafetensorsEntry& entry : shard.entries_) {
      entry.file = all.files_.size();
      all.entries_.push_back(std::move(entry));
    }
    if (all.files_.empty()) all.metadata_ = std::move(shard.metadata_);
    all.file_bytes_ += shard.file_bytes_;
    all.files_.push_back(std::move(shard.files_.front()));
  }
  all.index_names();
  return all;
}

void SafetensorsFile::index_names() {
  for (std::size_t i = 0; i < entries_.size(); ++i) by_name_.emplace(entries_[i].name, i);
}

std::shared_ptr<const void> SafetensorsFile::storage() const {
  auto all = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (const File& file : files_) all->push_back(file.contents);
  return all;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const noexcept {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

std::span<const std::byte> SafetensorsFile::data(const SafetensorsEntry& entry) const {
  return files_[entry.file].contents->bytes(entry);
}

TensorView SafetensorsFile::view(const SafetensorsEntry& entry) const {
  const auto type = floating_type(entry.type);
  if (!type) {
    throw Error(ErrorKind::unsupported, fmt::format("{}, tensor {}", path_of(entry).string(), entry.name),
                "has the unsupported data type " + entry.type, "convert the checkpoint to F32, F16 or BF16");
  }
  const std::byte* bytes = entry.type == kDouble ? files_[entry.file].contents->narrowed(entry) : data(entry).data();
  return {*type, {entry.shape.begin(), entry.shape.end()}, bytes};
}

}  // namespace relucent
