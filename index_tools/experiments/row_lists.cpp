#include "index_tools/experiments/row_lists.h"

#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

/// `read` takes an element's text; an Error of it is one of the file.
template <typename Read, typename Set, typename Shown>
RowList list_of(TomlTable& table, const char* key, const std::string& array, Read read, Set set, Shown shown) {
  std::vector<decltype(read(std::string()))> values;
  for (const std::string& text : table.texts(array)) {
    try {
      values.push_back(read(text));
    } catch (const Error& error) {
      table.fail_at(array, error.place().empty() ? error.problem() : error.place() + " " + error.problem(),
                    error.remedy());
    }
  }
  const std::size_t size = values.size();
  return {key, size, [values = std::move(values), set](ExperimentRow& row, std::size_t i) { set(row, values[i]); },
          shown};
}

/// The same for whole numbers, or "inf" where it is allowed: -1.
template <typename Set, typename Shown>
RowList numbers_of(TomlTable& table, const char* key, const std::string& array, std::int32_t most, bool unlimited,
                   Set set, Shown shown) {
  std::vector<std::int32_t> values;
  for (const toml::node* element : table.elements(array)) {
    const bool none = unlimited && element->is_string() && element->as_string()->get() == "inf";
    values.push_back(none ? -1 : table.whole_number_of(*element, array, 0, most));
  }
  const std::size_t size = values.size();
  return {key, size, [values = std::move(values), set](ExperimentRow& row, std::size_t i) { set(row, values[i]); },
          shown};
}

LongDocuments long_documents(const std::string& name) {
  using enum LongDocuments;
  std::vector<std::string_view> known;
  for (const LongDocuments mode : {truncate, maxp, firstp, sump, avgp, topk}) {
    if (to_string(mode) == name) return mode;
    known.push_back(to_string(mode));
  }
  throw Error(ErrorKind::usage, "", fmt::format("unknown mode \"{}\"", name), "choose from " + join(known));
}

void for_all_stages(ExperimentRow& row, const std::function<void(StageConfig&)>& use) {
  use(row.rescorer);
  for (StageConfig& stage : row.rescorer.stages) use(stage);
}

// Fills in {model}, {window} ...; without a name, the values of the lists that have several.
std::string row_name(const std::vector<RowList>& lists, const ExperimentRow& row, const std::string& pattern) {
  if (pattern.empty()) {
    std::vector<std::string> parts;
    for (const RowList& list : lists) {
      if (list.size > 1 || (list.size == 1 && (list.key == "model" || list.key == "pattern")))
        parts.push_back(list.key == "window" ? "w=" + list.shown(row) : list.shown(row));
    }
    return parts.empty() ? "model" : join(parts, " ");
  }
  std::string name = pattern;
  for (const RowList& list : lists) {
    const std::string place = "{" + list.key + "}";
    const std::string shown = list.shown(row);
    for (std::size_t at = 0; (at = name.find(place, at)) != std::string::npos; at += shown.size())
      name.replace(at, place.size(), shown);
  }
  return name;
}

bool is_word_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '=' || c == '_' ||
         c == '.' || c == '-';
}

// The row's name without its window: "sparse w=4" and "sparse 4" become "sparse".
std::string series_name(const std::vector<RowList>& lists, const ExperimentRow& row, std::string pattern) {
  const auto erase = [](std::string& text, std::size_t at, std::size_t size) {
    for (; at > 0 && text[at - 1] == ' '; --at) ++size;
    text.erase(at, size);
  };
  bool has_place = false;
  for (const std::string place : {"w={window}", "{window}"}) {
    for (std::size_t at; (at = pattern.find(place)) != std::string::npos; has_place = true)
      erase(pattern, at, place.size());
  }
  std::string name = has_place ? row_name(lists, row, pattern.empty() ? " " : pattern) : row.name;
  const std::string window = window_name(row.rescorer.attention_window);
  for (const std::string& word : {"w=" + window, window}) {
    const auto in_word = [&](std::size_t at) { return at < name.size() && is_word_character(name[at]); };
    for (std::size_t at = name.rfind(word); !has_place && at != std::string::npos;
         at = at > 0 ? name.rfind(word, at - 1) : std::string::npos) {
      if ((at > 0 && in_word(at - 1)) || in_word(at + word.size())) continue;
      erase(name, at, word.size());
      has_place = true;
    }
  }
  name = trim(name, " ,");
  if (!name.empty()) return name;
  // The name is the window alone: the others of the lists' values remain.
  std::vector<RowList> others = lists;
  std::erase_if(others, [](const RowList& list) { return list.key == "window"; });
  return row_name(others, row, "");
}

}  // namespace

std::vector<RowList> read_row_lists(TomlTable& table, bool staged, bool costs) {
  using Row = ExperimentRow;
  std::vector<RowList> lists;
  lists.push_back(list_of(
      table, "model", "models", [](const std::string& name) { return name; },
      [](Row& row, const std::string& name) { row.model = name; }, [](const Row& row) { return row.model; }));
  lists.push_back(list_of(
      table, "pattern", "patterns", parse_pattern, [](Row& row, PatternChoice one) { row.rescorer.pattern = one; },
      [](const Row& row) { return std::string(to_string(row.rescorer.pattern)); }));
  lists.push_back(numbers_of(
      table, "window", "windows", kWidestWindow, true,
      [](Row& row, std::int32_t window) { row.rescorer.attention_window = window; },
      [](const Row& row) { return window_name(row.rescorer.attention_window); }));
  lists.push_back(numbers_of(
      table, "length", "lengths", 1000000, false,
      [](Row& row, std::int32_t length) { row.rescorer.max_length = length; },
      [](const Row& row) { return std::to_string(row.rescorer.max_length); }));
  if (costs && lists.back().size > 0) table.fail_at("lengths", "[costs] has the lengths", "remove the key");
  lists.push_back(list_of(
      table, "long_documents", "long_documents", long_documents,
      [](Row& row, LongDocuments mode) { row.rescorer.long_documents = mode; },
      [](const Row& row) { return std::string(to_string(row.rescorer.long_documents)); }));
  for (const RowList& list : lists) {
    if (!staged || list.size == 0) continue;
    table.fail(fmt::format("{} does not name the stage of the configuration that it is for", list.key),
               "set it in the [[rescorer.stages]] of that file");
  }
  lists.push_back(list_of(
      table, "device", "devices", parse_device,
      [](Row& row, const Device& device) { for_all_stages(row, [&](StageConfig& stage) { stage.device = device; }); },
      [](const Row& row) { return to_string(row.rescorer.device); }));
  lists.push_back(list_of(
      table, "precision", "precisions", parse_precision,
      [](Row& row, Precision one) { for_all_stages(row, [&](StageConfig& stage) { stage.precision = one; }); },
      [](const Row& row) { return std::string(to_string(row.rescorer.precision)); }));
  return lists;
}

std::vector<ExperimentRow> combinations(const ExperimentRow& base, const std::vector<RowList>& lists,
                                        const std::string& pattern) {
  std::vector<ExperimentRow> rows = {base};
  for (const RowList& list : lists) {
    if (list.size == 0) continue;
    std::vector<ExperimentRow> longer;
    for (const ExperimentRow& row : rows) {
      for (std::size_t i = 0; i < list.size; ++i) list.apply(longer.emplace_back(row), i);
    }
    rows = std::move(longer);
  }
  for (ExperimentRow& row : rows) {
    row.name = row_name(lists, row, pattern);
    row.series = series_name(lists, row, pattern);
    // A pattern with a window takes no -1.
    const PatternChoice kind = row.rescorer.pattern;
    if (kind != PatternChoice::checkpoint && kind != PatternChoice::full && row.rescorer.attention_window == -1) {
      row.rescorer.attention_window = kWidestWindow;
    }
  }
  return rows;
}

}  // namespace relucent::index_tools
