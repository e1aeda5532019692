#include "plugin/second_stage/restore_words.h"

#include <map>
#include <string_view>

#include "base/text.h"
#include "relucent/analysis.h"

namespace relucent {
namespace {

constexpr std::size_t kBeginning = 20'000;  // bytes

using Counts = std::map<std::string, std::size_t>;

std::string lower_ascii(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string word_for(const std::string& stem, const Counts& words) {
  if (words.contains(stem)) return stem;
  std::string best = stem;
  std::size_t most = 0;
  for (const auto& [word, count] : words) {
    if (count > most) {
      most = count;
      best = word;
    }
  }
  return best;
}

}  // namespace

std::string restore_words(const std::vector<std::string>& stems, std::span<const std::string_view> texts,
                          const StopSignal& stop) {
  std::map<std::string, Counts> words_of;
  for (const auto& stem : stems) words_of[stem];
  for (const std::string_view text : texts) {
    stop.throw_if_due("turning stems back into words");
    const std::string_view beginning = text.substr(0, kBeginning);
    for (const auto& token : analyze_english(beginning)) {
      const auto words = words_of.find(token.term);
      if (words == words_of.end()) continue;
      ++words->second[lower_ascii(beginning.substr(token.start, token.end - token.start))];
    }
  }
  return join(stems, " ", [&](const std::string& stem) { return word_for(stem, words_of[stem]); });
}

}  // namespace relucent
