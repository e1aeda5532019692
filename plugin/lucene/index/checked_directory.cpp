#include "plugin/lucene/index/checked_directory.h"

#include <BufferedIndexInput.h>
#include <LuceneException.h>
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/file/random_file.h"
#include "plugin/index_format/check/segments_list.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

using segment::kBlockBytes;

/// An open file, shared by all its readers.
class CheckedFile {
 public:
  CheckedFile(const std::filesystem::path& path, segment::FileSum sum)
      : file_(path), sum_(std::move(sum)), checked_((sum_.blocks.size() + 63) / 64) {
    if (file_.size() != sum_.size) damaged();
  }

  std::int64_t size() const { return sum_.size; }

  void read(std::int64_t at, char* to, std::int64_t count) const {
    if (at < 0 || count < 0 || count > size() - at) throw Lucene::IOException(L"Read past EOF");
    while (count > 0) {
      const std::int64_t block = at / kBlockBytes, start = block * kBlockBytes;
      const std::int64_t piece = std::min(count, start + kBlockBytes - at);
      if (is_checked(block)) {
        if (file_.read(at, to, static_cast<std::size_t>(piece)) != static_cast<std::size_t>(piece)) damaged();
      } else {
        char bytes[kBlockBytes];
        const auto length = static_cast<std::size_t>(std::min(kBlockBytes, size() - start));
        if (file_.read(start, bytes, length) != length ||
            checksum({bytes, length}) != sum_.blocks[static_cast<std::size_t>(block)]) {
          damaged();
        }
        set_checked(block);
        std::memcpy(to, bytes + (at - start), static_cast<std::size_t>(piece));
      }
      at += piece;
      to += piece;
      count -= piece;
    }
  }

 private:
  bool is_checked(std::int64_t block) const {
    return (checked_[static_cast<std::size_t>(block / 64)].load(std::memory_order_relaxed) >> (block % 64) & 1) != 0;
  }
  void set_checked(std::int64_t block) const {
    checked_[static_cast<std::size_t>(block / 64)].fetch_or(std::uint64_t{1} << (block % 64),
                                                            std::memory_order_relaxed);
  }
  [[noreturn]] void damaged() const {
    throw Lucene::CorruptIndexException(to_lucene(file_.path().string() + ": does not match its recorded checksum"));
  }

  RandomFile file_;
  segment::FileSum sum_;
  mutable std::vector<std::atomic<std::uint64_t>> checked_;
};

class CheckedInput : public Lucene::BufferedIndexInput {
 public:
  CheckedInput() = default;
  CheckedInput(std::shared_ptr<const CheckedFile> file, std::int32_t buffer_size)
      : BufferedIndexInput(buffer_size), file_(std::move(file)), original_(true) {}

  std::int64_t length() override { return file().size(); }
  void close() override {
    BufferedIndexInput::close();
    if (original_) file_.reset();  // clones keep their own reference
  }
  Lucene::LuceneObjectPtr clone(const Lucene::LuceneObjectPtr& other) override {
    const auto clone = BufferedIndexInput::clone(other ? other : Lucene::newLucene<CheckedInput>());
    boost::static_pointer_cast<CheckedInput>(clone)->file_ = file_;
    return clone;
  }

 protected:
  void readInternal(std::uint8_t* bytes, std::int32_t offset, std::int32_t length) override {
    try {
      file().read(getFilePointer(), reinterpret_cast<char*>(bytes) + offset, length);
    } catch (const Error& error) {  // Lucene++ cleans up only after its own exceptions
      throw Lucene::IOException(to_lucene(fmt::format("{}: {}", error.place(), error.problem())));
    }
  }
  void seekInternal(std::int64_t) override {}

 private:
  const CheckedFile& file() const {
    if (!file_) throw Lucene::AlreadyClosedException(L"the file is closed");
    return *file_;
  }

  std::shared_ptr<const CheckedFile> file_;
  bool original_ = false;
};

}  // namespace

CheckedDirectory::CheckedDirectory(const std::filesystem::path& folder, segment::FileSums sums)
    : FileDirectory(folder), sums_(std::move(sums)) {}

Lucene::IndexInputPtr CheckedDirectory::openInput(const Lucene::String& name) {
  return openInput(name, Lucene::BufferedIndexInput::BUFFER_SIZE);
}

Lucene::IndexInputPtr CheckedDirectory::openInput(const Lucene::String& name, std::int32_t buffer_size) {
  const std::string file = to_utf8(name);
  const auto sum = sums_.find(file);
  try {
    if (sum != sums_.end()) {
      return Lucene::newLucene<CheckedInput>(std::make_shared<const CheckedFile>(folder() / file, sum->second),
                                             buffer_size);
    }
    // If the host reopens its reader, Lucene++ reads a newer list and would crash on a damaged one.
    if (file.starts_with("segments_")) check::read_segments_list(folder() / file);
  } catch (const Error& error) {
    const Lucene::String problem = to_lucene(fmt::format("{}: {}", error.place(), error.problem()));
    if (error.kind() == ErrorKind::invalid_data) throw Lucene::CorruptIndexException(problem);
    if (!std::filesystem::exists(folder() / file)) throw Lucene::FileNotFoundException(problem);
    throw Lucene::IOException(problem);
  }
  return FileDirectory::openInput(name, buffer_size);
}

}  // namespace relucent
