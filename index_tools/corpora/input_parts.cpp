#include "index_tools/corpora/input_parts.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "index_tools/corpora/archive_reader.h"
#include "index_tools/corpora/named_descriptor.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

// Deeper nesting is treated as a malicious archive.
constexpr std::size_t kMaxLevels = 5;

class EntryStream : public ByteStream {
 public:
  explicit EntryStream(ArchiveReader& archive) : archive_(archive) {}
  std::size_t read(char* buffer, std::size_t capacity) override { return archive_.read(buffer, capacity); }

 private:
  ArchiveReader& archive_;
};

ArchiveReader::Opens opens_by_name(std::string_view path) {
  if (names_container(path)) return ArchiveReader::Opens::everything;
  return names_compressed(path) ? ArchiveReader::Opens::compression : ArchiveReader::Opens::nothing;
}

}  // namespace

struct InputParts::Level {
  std::string name;
  std::string path;
  std::unique_ptr<ByteStream> own_source;  // null for the file itself
  ArchiveReader archive;
  bool any_entry = false;
  bool any_part = false;

  Level(std::string given, std::string below, std::unique_ptr<ByteStream> source, ByteStream& stream, bool by_name)
      : name(std::move(given)),
        path(std::move(below)),
        own_source(std::move(source)),
        archive(stream, name, by_name ? opens_by_name(path) : ArchiveReader::Opens::everything) {}
};

InputParts::InputParts(std::vector<InputFile> files, std::vector<std::string> patterns, bool by_name)
    : files_(std::move(files)), patterns_(std::move(patterns)), by_name_(by_name) {
  for (const InputFile& file : files_) total_bytes_ += file.size;
  if (std::any_of(files_.begin(), files_.end(), [](const InputFile& file) { return file.stream; })) total_bytes_ = 0;
}

InputParts::~InputParts() = default;

bool InputParts::open_next_file() {
  if (file_ != nullptr)
    finished_bytes_ += files_[next_file_ - 1].stream ? file_->position() : files_[next_file_ - 1].size;
  file_.reset();
  bytes_read_ = finished_bytes_;
  if (next_file_ == files_.size()) return false;
  const InputFile& file = files_[next_file_++];
  file_ = std::make_unique<FileStream>(file.path);
  levels_.push_back(std::make_unique<Level>(input_name(file.path), file.below, nullptr, *file_, by_name_));
  return true;
}

bool InputParts::next_part() {
  for (;;) {
    if (levels_.empty() && !open_next_file()) return false;
    Level& top = *levels_.back();
    if (!top.archive.next_entry()) {
      if (top.any_entry && !top.any_part && !files_[next_file_ - 1].found_in_folder) {
        throw Error(ErrorKind::invalid_data, top.name,
                    "the archive contains no entry whose name matches " + join(patterns_),
                    "choose other entries with --names PATTERN");
      }
      levels_.pop_back();
      continue;
    }
    if (!top.archive.in_container()) return true;

    top.any_entry = true;
    const std::string entry = top.archive.entry_name();
    if (!name_matches(entry, patterns_) && !names_container(entry)) continue;
    top.any_part = true;
    std::string name = fmt::format("{}:{}", top.name, entry);
    if (levels_.size() == kMaxLevels) {
      throw Error(ErrorKind::invalid_data, name, "is nested in too many archives", "unpack it first");
    }
    auto stream = std::make_unique<EntryStream>(top.archive);
    ByteStream& bytes = *stream;
    levels_.push_back(std::make_unique<Level>(std::move(name), fmt::format("{}/{}", top.path, entry), std::move(stream),
                                              bytes, by_name_));
  }
}

const std::string& InputParts::part_name() const { return levels_.back()->name; }

const std::string& InputParts::part_path() const { return levels_.back()->path; }

std::size_t InputParts::read(char* buffer, std::size_t capacity) {
  const std::size_t count = levels_.back()->archive.read(buffer, capacity);
  const InputFile& file = files_[next_file_ - 1];
  bytes_read_ = finished_bytes_ + (file.stream ? file_->position() : std::min(file_->position(), file.size));
  return count;
}

}  // namespace relucent::index_tools
