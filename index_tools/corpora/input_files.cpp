#include "index_tools/corpora/input_files.h"

#include <fmt/core.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/text.h"
#include "index_tools/corpora/named_descriptor.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> suffixes, std::string_view& stem) {
  for (const std::string_view suffix : suffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      stem = name.substr(0, name.size() - suffix.size());
      return true;
    }
  }
  return false;
}

std::string_view without_compression(std::string_view name) {
  std::string_view stem = name;
  while (ends_with_any(stem, {".gz", ".bz2", ".xz", ".lzma", ".zst", ".Z", ".z"}, stem)) {
  }
  return stem;
}

// The last `count` components of a path, or the whole path if it has fewer.
std::string_view last_parts(std::string_view path, std::ptrdiff_t count) {
  std::size_t from = path.size();
  while (count-- > 0 && from != std::string_view::npos && from > 0) from = path.find_last_of('/', from - 1);
  return from == std::string_view::npos || path.empty() ? path : path.substr(from + 1);
}

[[noreturn]] void unreadable(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::io, path.string(), "cannot be read: " + why, "check the path and its permissions");
}

InputFile describe(const fs::path& path) {
  const auto descriptor = named_descriptor(path, STDIN_FILENO);
  struct stat status {};
  if ((descriptor ? ::fstat(*descriptor, &status) : ::stat(path.c_str(), &status)) != 0) {
    const std::string why = std::strerror(errno);
    unreadable(input_name(path), why);
  }
  if (descriptor || !S_ISREG(status.st_mode)) return {path, 0, 0, false, path.filename().string(), true};
  return {path, status.st_size, status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec, false,
          path.filename().string()};
}

/// All files below a folder, links followed.
class FolderFiles {
 public:
  struct BrokenLink {
    fs::path path;
    std::string why;
    bool to_folder;
  };

  explicit FolderFiles(const fs::path& folder) {
    // A link to a folder that contains this one is also circular.
    std::error_code failure;
    for (fs::path above = fs::canonical(folder, failure); !failure && above.has_relative_path();) {
      above = above.parent_path();
      struct stat status {};
      if (::stat(above.c_str(), &status) == 0) around_.emplace_back(status.st_dev, status.st_ino);
    }
    add(folder);
    std::sort(files.begin(), files.end());
  }

  std::vector<fs::path> files;
  std::vector<BrokenLink> broken;

 private:
  using Identity = std::pair<dev_t, ino_t>;

  static bool leads_nowhere(const std::error_code& problem) {
    return problem == std::errc::no_such_file_or_directory || problem == std::errc::not_a_directory ||
           problem == std::errc::too_many_symbolic_link_levels;
  }

  void add(const fs::path& folder) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) unreadable(folder, std::strerror(errno));
    const Identity identity{status.st_dev, status.st_ino};
    if (std::find(around_.begin(), around_.end(), identity) != around_.end()) {
      broken.push_back({folder, "leads back to a directory that contains it", true});
      return;
    }
    around_.push_back(identity);
    std::error_code failure;
    for (fs::directory_iterator i(folder, failure), end; !failure && i != end; i.increment(failure)) {
      std::error_code problem, ignored;
      const fs::file_status target = i->status(problem);
      if (fs::is_directory(target)) {
        add(i->path());
      } else if (fs::is_regular_file(target)) {
        files.push_back(i->path());
      } else if (leads_nowhere(problem) && i->is_symlink(ignored)) {
        broken.push_back({i->path(), "its target cannot be reached", false});
      } else if (problem) {
        unreadable(i->path(), problem.message());
      }
    }
    if (failure) unreadable(folder, failure.message());
    around_.pop_back();
  }

  std::vector<Identity> around_;  // the folders from the first one to the one being read
};

void add_folder(const fs::path& folder, const std::vector<std::string>& patterns, InputFiles& found) {
  const auto wanted = [&](const fs::path& path) {
    return name_matches(path.string(), patterns) || names_container(path.string());
  };
  const FolderFiles below(folder);
  const std::size_t before = found.files.size();
  for (const fs::path& path : below.files) {
    if (wanted(path)) {
      found.files.push_back(describe(path));
      found.files.back().found_in_folder = true;
      found.files.back().below = path.lexically_relative(folder).generic_string();
    } else {
      ++found.left_out;
    }
  }
  for (const auto& link : below.broken) {
    if (link.to_folder || wanted(link.path))
      found.broken_links.push_back(fmt::format("{} ({})", link.path.string(), link.why));
  }
  if (found.files.size() > before) return;
  throw Error(ErrorKind::io, folder.string(), "the directory contains no file whose name matches " + join(patterns),
              "pass the files themselves, or other name patterns with --names PATTERN");
}

std::vector<fs::path> expand(const std::string& pattern) {
  ::glob_t matches{};
  const int status = ::glob(pattern.c_str(), GLOB_TILDE, nullptr, &matches);
  const std::unique_ptr<::glob_t, void (*)(::glob_t*)> release(&matches, ::globfree);
  if (status != 0) return {};
  return {matches.gl_pathv, matches.gl_pathv + matches.gl_pathc};
}

}  // namespace

bool name_matches(std::string_view path, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    const std::string whole(last_parts(path, std::count(pattern.begin(), pattern.end(), '/') + 1));
    const std::string bare(without_compression(whole));
    return ::fnmatch(pattern.c_str(), bare.c_str(), FNM_CASEFOLD | FNM_PATHNAME) == 0 ||
           ::fnmatch(pattern.c_str(), whole.c_str(), FNM_CASEFOLD | FNM_PATHNAME) == 0;
  });
}

bool names_container(std::string_view path) {
  std::string_view stem;
  return ends_with_any(without_compression(path), {".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".zip"}, stem);
}

bool names_compressed(std::string_view path) { return without_compression(path).size() < path.size(); }

InputFiles find_input_files(const std::vector<std::string>& inputs, const std::vector<std::string>& patterns) {
  InputFiles found;
  for (const std::string& input : inputs) {
    std::vector<fs::path> paths{input};
    std::error_code ignored;
    const bool pattern = !fs::exists(input, ignored) && input.find_first_of("*?[") != std::string::npos;
    if (pattern) {
      paths = expand(input);
      if (paths.empty()) throw Error(ErrorKind::io, input, "the pattern matches no file", "check the path");
    }
    for (const fs::path& path : paths) {
      if (fs::is_directory(path, ignored)) {
        add_folder(path, patterns, found);
      } else {
        found.files.push_back(describe(path));
        if (pattern && found.files.back().stream) {
          throw Error(ErrorKind::io, path.string(), "is not a regular file",
                      "pass a pipe by its name, not by a pattern");
        }
      }
    }
  }
  if (found.files.empty())
    throw Error(ErrorKind::usage, "--input", "matches no file", "pass files, directories or patterns");
  return found;
}

}  // namespace relucent::index_tools
