#include "index_tools/readers/input_files.h"

#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

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

// The end of a path with so many names in it, or the whole path where it has fewer.
std::string_view last_parts(std::string_view path, std::ptrdiff_t count) {
  std::size_t from = path.size();
  while (count-- > 0 && from != std::string_view::npos && from > 0) from = path.find_last_of('/', from - 1);
  return from == std::string_view::npos || path.empty() ? path : path.substr(from + 1);
}

InputFile describe(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    throw Error(ErrorKind::io, path.string(), std::string("cannot be read: ") + std::strerror(errno),
                "check the path and its permissions");
  }
  return {path, status.st_size, status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec, false,
          path.filename().string()};
}

void add_folder(const fs::path& folder, const std::vector<std::string>& patterns, InputFiles& found) {
  std::vector<fs::path> paths;
  std::error_code failure;
  for (fs::recursive_directory_iterator i(folder, fs::directory_options::follow_directory_symlink, failure), end;
       !failure && i != end; i.increment(failure)) {
    if (i->is_regular_file(failure)) paths.push_back(i->path());
    if (failure) break;
  }
  if (failure) throw Error(ErrorKind::io, folder.string(), "the folder cannot be read: " + failure.message());
  std::sort(paths.begin(), paths.end());
  const std::size_t before = found.files.size();
  for (const fs::path& path : paths) {
    if (name_matches(path.string(), patterns) || names_container(path.string())) {
      found.files.push_back(describe(path));
      found.files.back().found_in_folder = true;
      found.files.back().below = path.lexically_relative(folder).generic_string();
    } else {
      ++found.left_out;
    }
  }
  if (found.files.size() > before) return;
  std::string wanted;
  for (const std::string& pattern : patterns) wanted += (wanted.empty() ? "" : ", ") + pattern;
  throw Error(ErrorKind::io, folder.string(), "the folder holds no file named like " + wanted,
              "name the files themselves, or other names with --names PATTERN");
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

InputFiles find_input_files(const std::vector<std::string>& inputs, const std::vector<std::string>& patterns) {
  InputFiles found;
  for (const std::string& input : inputs) {
    std::vector<fs::path> paths{input};
    std::error_code ignored;
    if (!fs::exists(input, ignored) && input.find_first_of("*?[") != std::string::npos) {
      paths = expand(input);
      if (paths.empty()) throw Error(ErrorKind::io, input, "the pattern matches no file", "check the path");
    }
    for (const fs::path& path : paths) {
      if (fs::is_directory(path, ignored)) {
        add_folder(path, patterns, found);
      } else {
        found.files.push_back(describe(path));
      }
    }
  }
  if (found.files.empty()) throw Error(ErrorKind::usage, "--input", "names no file", "name files, folders or patterns");
  return found;
}

}  // namespace relucent::index_tools
