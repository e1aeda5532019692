#include "model/tokenizer/vocabulary_file.h"

#include <fmt/core.h>

#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/file/file_io.h"
#include "base/utf8.h"
#include "model/tokenizer/vocabulary_trie.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::size_t kMaxVocabularyFile = std::size_t{64} << 20;  // a few large ones have 10 MB

}  // namespace

std::vector<std::string> read_vocabulary_lines(const std::filesystem::path& path) {
  const std::string bytes = read_file(path, kMaxVocabularyFile);
  std::string_view rest = bytes;
  std::vector<std::string> entries;
  std::unordered_map<std::string, std::size_t> lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto refuse = [&](const std::string& problem) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}, line {}", path.string(), entries.size() + 1), problem,
                  "download the file again");
    };
    if (!is_well_formed_utf8(line)) refuse("is not valid UTF-8");
    if (line.size() > VocabularyTrie::kMaxEntryBytes) refuse("is longer than 1024 bytes");
    // If a line repeats, as padded rows do, its last occurrence counts.
    const auto [known, is_new] = lines.try_emplace(std::string(line), entries.size());
    if (!is_new) entries[std::exchange(known->second, entries.size())].clear();
    entries.emplace_back(line);
  }
  while (!entries.empty() && entries.back().empty()) entries.pop_back();
  return entries;
}

}  // namespace relucent
