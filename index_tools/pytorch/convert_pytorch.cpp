#include "index_tools/pytorch/convert_pytorch.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file/folder_entries.h"
#include "base/file/new_folder.h"
#include "index_tools/pytorch/pickled_tensors.h"
#include "model/checkpoint/weight_files.h"
#include "model/formats/json_file.h"
#include "model/formats/safetensors_writer.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

constexpr const char *kWhole = "pytorch_model.bin", *kIndex = "pytorch_model.bin.index.json";
constexpr std::uint64_t kMostPickle = 64 << 20;
constexpr std::size_t kMostEntries = 1 << 18;

[[noreturn]] void fail(const fs::path& path, const std::string& problem) {
  throw Error(ErrorKind::invalid_data, path.string(), problem, "download the file again");
}

/// A zip archive, read from front to back.
class Zip {
 public:
  explicit Zip(const fs::path& path) : path_(path), archive_(::archive_read_new()) {
    ::archive_read_support_format_zip(archive_.get());
    constexpr std::size_t kBlock = 1 << 20;
    if (::archive_read_open_filename(archive_.get(), path.c_str(), kBlock) == ARCHIVE_OK) return;
    if (!fs::exists(path)) throw Error(ErrorKind::io, path.string(), "no such file", "download the file");
    throw Error(ErrorKind::unsupported, path.string(),
                "is not a zip archive, as PyTorch writes since version 1.6: it is older, or damaged",
                "save the model from PyTorch with save_pretrained(), which writes safetensors");
  }

  /// Goes to the next file; false at the end.
  bool next() {
    if (++entries_ > kMostEntries) fail(path_, "has too many files");
    const int status = ::archive_read_next_header(archive_.get(), &entry_);
    if (status == ARCHIVE_EOF) return false;
    if (status != ARCHIVE_OK) damaged();
    return true;
  }
  /// The file's name below the archive's only folder.
  std::string name() const {
    const char* const stated = ::archive_entry_pathname(entry_);
    const std::string whole = stated == nullptr ? "" : stated;
    return whole.substr(whole.find('/') + 1);
  }
  /// Its bytes, of which there must be at most so many.
  std::vector<std::byte> read(std::uint64_t most) {
    std::vector<std::byte> bytes;
    constexpr std::size_t kStep = 1 << 20;
    while (true) {
      const std::size_t have = bytes.size();
      bytes.resize(have + std::min<std::uint64_t>(kStep, most + 1 - have));
      const auto count = ::archive_read_data(archive_.get(), bytes.data() + have, bytes.size() - have);
      if (count < 0) damaged();
      bytes.resize(have + static_cast<std::size_t>(count));
      if (count == 0) return bytes;
      if (bytes.size() > most) fail(path_, fmt::format("the file {} has more than {} bytes", name(), most));
    }
  }

 private:
  struct Close {
    void operator()(::archive* handle) const { ::archive_read_free(handle); }
  };

  [[noreturn]] void damaged() const {
    const char* const why = ::archive_error_string(archive_.get());
    fail(path_, fmt::format("is damaged: {}", why == nullptr ? "unknown" : why));
  }

  fs::path path_;
  std::unique_ptr<::archive, Close> archive_;
  ::archive_entry* entry_ = nullptr;
  std::size_t entries_ = 0;
};

/// A pytorch_model.bin, whose storages are read in the order of the archive.
class PytorchFile {
 public:
  explicit PytorchFile(const fs::path& path) : path_(path) {
    Zip zip(path);
    std::string pickle;
    std::map<std::string, std::size_t> places;
    while (zip.next()) {
      const std::string name = zip.name();
      places.emplace(name, places.size());
      if (name == "byteorder") {
        const std::vector<std::byte> order = zip.read(16);
        if (std::string(reinterpret_cast<const char*>(order.data()), order.size()) != "little") {
          throw Error(ErrorKind::unsupported, path.string(), "has numbers in big-endian order",
                      "save the model on a little-endian machine");
        }
      }
      if (name != "data.pkl") continue;
      const std::vector<std::byte> bytes = zip.read(kMostPickle);
      pickle.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    if (pickle.empty()) fail(path, "has no data.pkl");
    tensors_ = read_pickled_tensors(pickle, path.string() + ", data.pkl");
    const std::uint64_t file_size = fs::file_size(path);
    for (const PickledTensor& tensor : tensors_) {
      // PyTorch compresses nothing; a few compressed bytes could otherwise fill the memory.
      if (tensor.storage_elements * element_size_of(tensor.type) > file_size) {
        fail(path, fmt::format("has {} numbers of the tensor {}, more than it has bytes for", tensor.storage_elements,
                               tensor.name));
      }
      if (!places.contains("data/" + tensor.storage)) {
        fail(path, fmt::format("has no file data/{} of the tensor {}", tensor.storage, tensor.name));
      }
    }
    std::ranges::stable_sort(tensors_, {},
                             [&](const PickledTensor& tensor) { return places["data/" + tensor.storage]; });
  }

  const std::vector<PickledTensor>& tensors() const { return tensors_; }

  /// Writes the numbers of a tensor; to be called for tensors() in their order.
  void write(const PickledTensor& tensor, const NewTensor::Write& to) {
    const std::uint64_t size = element_size_of(tensor.type);
    if (!zip_) zip_ = std::make_unique<Zip>(path_);
    if (held_ != tensor.storage || storage_.empty()) {
      do {
        if (!zip_->next()) fail(path_, "has changed while it was read");
      } while (zip_->name() != "data/" + tensor.storage);
      storage_ = zip_->read(tensor.storage_elements * size);
      held_ = tensor.storage;
    }
    if (storage_.size() != tensor.storage_elements * size) {
      fail(path_, fmt::format("the file data/{} has {} bytes instead of {}", tensor.storage, storage_.size(),
                              tensor.storage_elements * size));
    }
    std::uint64_t elements = 1;
    for (const std::uint64_t dimension : tensor.shape) elements *= dimension;
    to(std::span(storage_).subspan(tensor.first * size, elements * size));
  }

 private:
  fs::path path_;
  std::vector<PickledTensor> tensors_;
  std::unique_ptr<Zip> zip_;
  std::string held_;
  std::vector<std::byte> storage_;
};

/// The files with weights.
std::vector<fs::path> files_of(const fs::path& folder) {
  if (fs::exists(folder / kWhole)) return {folder / kWhole};
  const JsonFile index = JsonFile::read(folder / kIndex);
  const OrderedJson* map = index.find("weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) index.fail("weight_map", "does not list files");
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\") != std::string::npos ||
        name.find('\0') != std::string::npos) {
      index.fail("weight_map", fmt::format("does not name a file of the folder for {}", tensor));
    }
    names.insert(name);
  }
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(folder / name);
  return files;
}

}  // namespace

bool has_pytorch_weights(const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors") || fs::exists(folder / "model.safetensors.index.json")) return false;
  return fs::exists(folder / kWhole) || fs::exists(folder / kIndex);
}

void convert_pytorch(const fs::path& from, const fs::path& to) {
  std::vector<std::unique_ptr<PytorchFile>> files;
  std::vector<NewTensor> tensors;
  std::set<std::string> names;
  for (const fs::path& path : files_of(from)) {
    PytorchFile& file = *files.emplace_back(std::make_unique<PytorchFile>(path));
    for (const PickledTensor& tensor : file.tensors()) {
      if (!names.insert(tensor.name).second) fail(path, fmt::format("has a second tensor {}", tensor.name));
      tensors.push_back({tensor.name, tensor.type, tensor.shape,
                         [&file, &tensor](const NewTensor::Write& write) { file.write(tensor, write); }});
    }
  }
  NewFolder folder(to);
  write_safetensors(tensors, {{"format", "pt"}}, folder);
  for (const auto& [name, is_folder] : entries_of(from)) {
    if (!is_folder && !is_weight_file(name)) folder.copy(from / name);
  }
  folder.publish();
}

}  // namespace relucent::index_tools
