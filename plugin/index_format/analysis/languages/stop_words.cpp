#include "plugin/index_format/analysis/languages/stop_words.h"

#include <deque>
#include <map>
#include <string>

#include "plugin/index_format/analysis/utf16.h"

namespace relucent::analysis {
namespace {

struct Sets {
  std::deque<std::u16string> words;
  std::map<AnalyzerKind, StopWords> of;

  Sets() {
    for (const StopWordList& list : stop_word_lists()) {
      StopWords& set = of[list.language];
      for (std::string_view rest = list.text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.empty() || line.front() == '#') continue;
        append_utf16(line, words.emplace_back());
        set.insert(words.back());
      }
    }
  }
};

}  // namespace

const StopWords& stop_words(AnalyzerKind language) {
  static const Sets sets;
  return sets.of.at(language);
}

}  // namespace relucent::analysis
