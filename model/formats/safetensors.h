#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/kernels/encoder.h"

namespace relucent {

/// Bytes per element of a safetensors type ("F32", "I64" ...); nullopt for an unknown type.
std::optional<std::uint64_t> safetensors_element_size(std::string_view type) noexcept;

/// The data type in which a tensor of "F32", "F16", "BF16" or "F64" is read: its own, or F32 for the last. nullopt for
/// any other.
std::optional<DataType> floating_type(std::string_view type) noexcept;
const char* safetensors_name(DataType type) noexcept;

/// One entry of the header.
struct SafetensorsEntry {
  std::string name;
  std::string type;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes within the data that follows the header
  std::size_t file = 0;              ///< which of the shards; 0 in a single file
};

/// A model.safetensors file or its shards, checked: the header has at most 100 MB and no duplicate keys,
/// each tensor's length matches its type and shape, and together they cover the data without overlap or gap. A tensor's
/// bytes are read when they are first asked for. Format: https://huggingface.co/docs/safetensors
class SafetensorsFile {
 public:
  /// Throws Error: `io` if the file cannot be read; `invalid_data` naming the file and the tensor or byte.
  static SafetensorsFile open(const std::filesystem::path& path);
  /// Opens all shards of a model.safetensors.index.json, which must state exactly their tensors. Throws the same
  /// Errors.
  static SafetensorsFile open_index(const std::filesystem::path& path);

  SafetensorsFile(SafetensorsFile&&) = default;
  SafetensorsFile& operator=(SafetensorsFile&&) = default;

  /// Path of the file, or of the index.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Path of the file that holds the tensor.
  const std::filesystem::path& path_of(const SafetensorsEntry& entry) const noexcept { return files_[entry.file].path; }
  /// Sum over all shards.
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  /// In the order of the shards' names and of the data.
  const std::vector<SafetensorsEntry>& entries() const noexcept { return entries_; }
  const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
  /// Null if there is no such tensor.
  const SafetensorsEntry* find(std::string_view name) const noexcept;
  /// The tensor's bytes, which storage() keeps. Thread-safe. Throws Error `io`, and `invalid_data` if the file has
  /// become shorter since it was opened.
  std::span<const std::byte> data(const SafetensorsEntry& entry) const;
  /// The tensor as a view into its data(); one of F64 as F32, into memory of its own. Throws the same Errors, and
  /// `unsupported` for a type other than F32, F16, BF16, F64.
  TensorView view(const SafetensorsEntry& entry) const;
  /// Keeps views alive.
  std::shared_ptr<const void> storage() const;

 private:
  class Contents;
  struct File {
    std::filesystem::path path;
    std::shared_ptr<Contents> contents;
  };

  SafetensorsFile() = default;
  void index_names();

  std::filesystem::path path_;
  std::uint64_t file_bytes_ = 0;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string_view, std::size_t> by_name_;  // views into entries_
  std::map<std::string, std::string> metadata_;
  std::vector<File> files_;
};

}  // namespace relucent
