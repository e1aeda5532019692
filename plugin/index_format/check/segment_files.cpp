#include "plugin/index_format/check/segment_files.h"

#include <fmt/core.h>

#include <utility>

#include "relucent/error.h"

namespace relucent::check {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtensions[] = {"fdt", "fdx", "fnm", "frq", "nrm", "prx", "tii", "tis", "tvd", "tvf", "tvx"};

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error);
}

bool is_compound(const fs::path& folder, const SegmentEntry& entry) {
  return entry.compound == 1 || (entry.compound == 0 && is_there(folder / (entry.name + ".cfs")));
}

}  // namespace

SegmentFiles::SegmentFiles(fs::path folder, const SegmentEntry& entry) : folder_(std::move(folder)), entry_(entry) {
  if (is_compound(folder_, entry)) compound_ = std::make_unique<const Parts>(read_compound(entry.name + ".cfs"));
  if (entry.first_stored != -1 && entry.stored_compound) {
    stored_ = std::make_unique<const Parts>(read_compound(entry.stored_segment + ".cfx"));
  }
}

SegmentFiles::Parts SegmentFiles::read_compound(const std::string& name) const {
  const auto file = std::make_shared<const RandomFile>(folder_ / name);
  FileWindow in(file, 0, file->size(), name);
  Parts parts;
  Part* last = nullptr;
  for (std::int64_t left = in.count(in.length(), "the number of files"); left > 0; --left) {
    const std::int64_t start = in.int64();
    const std::string part = in.string();
    if (start < (last ? last->start : 0) || start > in.length()) in.damaged("a file's offset is out of range");
    if (last) last->length = start - last->start;
    const auto [place, is_new] = parts.emplace(part, Part{file, start, 0});
    if (!is_new) in.damaged("two files have the same name");
    last = &place->second;
  }
  if (last) last->length = in.length() - last->start;
  for (const auto& [part, place] : parts) {
    if (place.start < in.position()) in.damaged("a file's offset is out of range");
  }
  return parts;
}

FileWindow SegmentFiles::open(const Parts* compound, const std::string& name) const {
  if (!compound) return open_loose(name);
  const auto part = compound->find(name);
  if (part == compound->end()) {
    throw Error(ErrorKind::invalid_data, (folder_ / name).string(), "is missing from the compound file",
                "restore the index from a copy or rebuild it: the disk or another program damaged it");
  }
  return {part->second.file, part->second.start, part->second.length, name};
}

FileWindow SegmentFiles::open(const std::string& extension) const {
  return open(compound_.get(), fmt::format("{}.{}", entry_.name, extension));
}

FileWindow SegmentFiles::open_stored(const std::string& extension) const {
  if (entry_.first_stored == -1) return open(extension);
  return open(stored_.get(), fmt::format("{}.{}", entry_.stored_segment, extension));
}

FileWindow SegmentFiles::open_loose(const std::string& name) const {
  const auto file = std::make_shared<const RandomFile>(folder_ / name);
  return {file, 0, file->size(), name};
}

bool SegmentFiles::has(const std::string& extension) const {
  const std::string name = fmt::format("{}.{}", entry_.name, extension);
  return compound_ ? compound_->contains(name) : is_there(folder_ / name);
}

std::vector<std::string> names_of_files(const fs::path& folder, const SegmentEntry& entry) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (is_there(folder / name)) names.push_back(name);
  };
  const bool compound = is_compound(folder, entry);
  if (compound) add(entry.name + ".cfs");
  for (const std::string_view extension : kExtensions) {
    const bool stored = extension.starts_with("fd") || extension.starts_with("tv");
    if (stored && entry.first_stored != -1) {
      if (!entry.stored_compound) add(fmt::format("{}.{}", entry.stored_segment, extension));
    } else if (!compound) {
      add(fmt::format("{}.{}", entry.name, extension));
    }
  }
  if (entry.first_stored != -1 && entry.stored_compound) add(entry.stored_segment + ".cfx");
  if (entry.deletions >= 0) add(with_generation(entry.name, ".del", entry.deletions));
  for (std::size_t i = 0; entry.norms && i < entry.norms->size(); ++i) {
    const std::int64_t generation = (*entry.norms)[i];
    if (generation >= 0) add(with_generation(entry.name, fmt::format(".s{}", i), generation));
  }
  return names;
}

bool belongs_to_generation(const std::string& name) {
  const std::string extension = name.substr(std::min(name.rfind('.'), name.size()));
  return extension == ".del" || (extension.size() > 2 && extension[1] == 's' &&
                                 extension.find_first_not_of("0123456789", 2) == std::string::npos);
}

}  // namespace relucent::check
