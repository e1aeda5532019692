#include "index_tools/experiments/experiment_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "base/text.h"
#include "config/toml_text.h"
#include "index_tools/experiments/toml_table.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using config::toml_error;

constexpr std::size_t kMaxRows = 2000;
constexpr std::int32_t kMaxWindow = 1000000;

class Reader {
 public:
  Reader(const toml::table& root, std::string_view file, std::filesystem::path folder, std::filesystem::path data)
      : root_(root, file, "the experiment"), folder_(std::move(folder)), data_(std::move(data)) {}

  Experiment read() {
    const std::optional<std::string> own_data = root_.text("data");
    if (data_.empty()) data_ = own_data.value_or("");
    data_ = (folder_ / data_).lexically_normal();
    e_.title = root_.required_text("title", "say in a line what the experiment shows");
    e_.source = root_.text("source").value_or("");
    e_.bound = root_.number("bound", 0, 1).value_or(e_.bound);
    e_.level = root_.number("level", 0, 1).value_or(e_.level);
    e_.holm = root_.choice<bool>("correction", {{"holm", true}, {"none", false}}, true);
    e_.reference = root_.text("reference").value_or("");
    for (TomlTable& table : root_.tables("models")) read_model(table);
    read_costs();
    read_measures();
    for (TomlTable& table : root_.tables("tasks")) read_task(table);
    for (TomlTable& table : root_.tables("averages")) read_average(table);
    if (e_.tasks.empty() && !e_.costs) {
      root_.fail("the experiment has no tasks",
                 "add [[tasks]] with candidates and qrels, or [costs] to measure time and memory");
    }
    if (!e_.tasks.empty() && e_.costs) {
      root_.fail("the experiment has both [[tasks]] and [costs]", "make a file for each");
    }
    for (TomlTable& table : root_.tables("rows")) read_rows(table);
    if (e_.rows.empty()) root_.fail("the experiment has no rows", "add [[rows]], for example with windows = [4]");
    for (TomlTable& table : root_.tables("published")) read_published(table);
    require_references();
    root_.finish();
    return std::move(e_);
  }

 private:
  std::filesystem::path path(const std::string& name) const {
    return name.empty() ? std::filesystem::path() : (data_ / name).lexically_normal();
  }

  std::string new_name(TomlTable& table, const std::vector<std::string>& taken) const {
    std::string name = table.required_text("name", "give it a name of its own");
    if (std::find(taken.begin(), taken.end(), name) != taken.end())
      table.fail_at("name", fmt::format("there are two with the name \"{}\"", name), "rename one of them");
    return name;
  }

  template <typename Named>
  static std::vector<std::string> names_of(const std::vector<Named>& all) {
    std::vector<std::string> names;
    for (const Named& one : all) names.push_back(one.name);
    return names;
  }

  void read_model(TomlTable& table) {
    ExperimentModel model;
    model.name = new_name(table, names_of(e_.models));
    model.folder = path(table.text("folder").value_or(""));
    model.get = table.text("get").value_or("");
    model.or_bundled = table.boolean("or_bundled").value_or(false);
    table.finish();
    e_.models.push_back(std::move(model));
  }

  void read_costs() {
    std::optional<TomlTable> table = root_.table("costs");
    if (!table) return;
    ExperimentCosts costs;
    for (const toml::node* element : table->elements("lengths"))
      costs.lengths.push_back(table->whole_number_of(*element, "lengths", 8, 1000000));
    if (costs.lengths.empty()) table->fail("[costs] has no \"lengths\"", "write lengths = [64, 128, ...]");
    costs.candidates = table->whole_number("candidates", 1, 100000).value_or(costs.candidates);
    costs.query_tokens = table->whole_number("query_tokens", 1, 1000000).value_or(costs.query_tokens);
    costs.runs = table->whole_number("runs", 1, 100000).value_or(costs.runs);
    for (const std::int32_t length : costs.lengths) {
      if (length >= costs.query_tokens + 4) continue;
      table->fail_at("lengths", fmt::format("a length of {} leaves no room for a document", length),
                     "write lengths of at least query_tokens + 4");
    }
    table->finish();
    e_.costs = std::move(costs);
  }

  void read_measures() {
    std::vector<std::string> names = root_.texts("measures");
    if (e_.costs) {
      if (!names.empty()) root_.fail_at("measures", "[costs] has measures of its own", "remove the key");
      return;
    }
    e_.times = std::erase(names, kTimes) > 0;
    if (e_.times && names.empty()) {
      root_.fail_at("measures", "\"ms\" stands without a measure of effectiveness",
                    "add one, for example \"nDCG@10\", or measure times with [costs]");
    }
    try {
      e_.measures = parse_measures(names.empty() ? "nDCG@10" : join(names));
    } catch (const Error& error) {
      root_.fail_at("measures", fmt::format("{} {}", error.place(), error.problem()), error.remedy());
    }
  }

  void read_task(TomlTable& table) {
    ExperimentTask task;
    task.name = new_name(table, names_of(e_.tasks));
    task.candidates = path(table.text("candidates").value_or(""));
    task.index = path(table.text("index").value_or(""));
    task.topics = path(table.text("topics").value_or(""));
    task.statistics = path(table.text("statistics").value_or(""));
    task.topic_text = table.choice<TopicText>(
        "topic_text",
        {{"title", TopicText::title}, {"description", TopicText::description}, {"narrative", TopicText::narrative}},
        TopicText::title);
    task.run = path(table.text("run").value_or(""));
    task.hits = table.whole_number("hits", 1, 100000).value_or(task.hits);
    task.qrels = path(table.required_text("qrels", "name the file of judgments"));
    task.get = table.text("get").value_or("");
    task.reference = table.text("reference").value_or("");
    task.shown = table.boolean("shown").value_or(true);
    if (task.index.empty() != task.topics.empty() || task.index.empty() == task.candidates.empty()) {
      table.fail(fmt::format("task \"{}\" does not name where its candidates come from", task.name),
                 "write either candidates = \"rerank.jsonl.gz\" or both index and topics");
    }
    if (!task.statistics.empty() && !task.index.empty())
      table.fail_at("statistics", "the task's index has the statistics", "remove the key");
    if (!task.run.empty() && task.index.empty()) {
      table.fail_at("run", "a run has no texts", "also write index and topics, in place of candidates");
    }
    table.finish();
    e_.tasks.push_back(std::move(task));
  }

  void read_average(TomlTable& table) {
    ExperimentAverage average;
    std::vector<std::string> earlier = names_of(e_.tasks);
    for (const ExperimentAverage& one : e_.averages) earlier.push_back(one.name);
    average.name = new_name(table, earlier);
    average.of = table.texts("of");
    if (average.of.empty()) table.fail("[[averages]] has no \"of\"", "list the tasks");
    require_known(table, "of", average.of, earlier);
    average.over_tasks = table.choice<bool>("over", {{"queries", false}, {"tasks", true}}, false);
    for (const ExperimentAverage& one : e_.averages) {
      if (average.over_tasks || !one.over_tasks) continue;
      if (std::find(average.of.begin(), average.of.end(), one.name) == average.of.end()) continue;
      table.fail_at("of", fmt::format("\"{}\" has no queries, only a mean of tasks", one.name),
                    "write over = \"tasks\"");
    }
    average.reference = table.text("reference").value_or("");
    table.finish();
    e_.averages.push_back(std::move(average));
  }

  static void require_known(TomlTable& table, const std::string& key, const std::vector<std::string>& names,
                            const std::vector<std::string>& known) {
    for (const std::string& name : names) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      table.fail_at(key, fmt::format("{} names \"{}\", which does not exist", key, name),
                    config::did_you_mean(name, known));
    }
  }

  void read_rows(TomlTable& table) {
    ExperimentRow row;
    const std::string name = table.text("name").value_or("");
    row.kind = table.choice<ExperimentRow::Kind>("kind",
                                                 {{"model", ExperimentRow::Kind::model},
                                                  {"first stage", ExperimentRow::Kind::first_stage},
                                                  {"runs", ExperimentRow::Kind::runs}},
                                                 ExperimentRow::Kind::model);
    const std::vector<std::string> tasks = names_of(e_.tasks);
    row.tasks = table.texts("tasks");
    require_known(table, "tasks", row.tasks, tasks);
    if (row.tasks.empty()) row.tasks = tasks;
    if (row.kind != ExperimentRow::Kind::model) {
      if (e_.costs) table.fail_at("kind", "there is nothing to measure without a model", "remove the row");
      row.name = table.required_text("name", "give the row a name");
      if (row.kind == ExperimentRow::Kind::runs) read_run_files(table, row, tasks);
      table.finish();
      add_row(table, std::move(row));
      return;
    }
    read_models_rows(table, row, name);
  }

  void read_run_files(TomlTable& table, ExperimentRow& row, const std::vector<std::string>& tasks) {
    std::optional<TomlTable> files = table.table("runs");
    if (!files) table.fail("[[rows]] of kind \"runs\" has no \"runs\"", "write runs = { \"task\" = \"file.run\" }");
    for (const std::string& task : tasks) {
      if (const auto file = files->text(task)) row.run[task] = path(*file);
    }
    files->finish();
    std::erase_if(row.tasks, [&row](const std::string& task) { return !row.run.contains(task); });
  }

  // Calls with(i) for each of an array's elements, and once if the key is absent.
  struct List {
    std::string key;
    std::size_t size = 0;  // 0: absent
    std::function<void(ExperimentRow&, std::size_t)> apply;
    std::function<std::string(const ExperimentRow&)> shown;
  };

  void read_models_rows(TomlTable& table, const ExperimentRow& first, const std::string& pattern) {
    ExperimentRow base = first;
    base.rescorer.window = 100000;
    if (const auto config = table.text("config")) base.rescorer = base_config(table, *config);
    const bool staged = !base.rescorer.stages.empty();
    if (staged && e_.costs) {
      table.fail_at("config", "[costs] measures one model, and the configuration has several stages",
                    "make a row of each stage's model");
    }
    const std::vector<List> lists = lists_of(table, staged);
    table.finish();
    std::vector<std::size_t> counter(lists.size(), 0);
    for (;;) {
      ExperimentRow row = base;
      for (std::size_t i = 0; i < lists.size(); ++i) {
        if (lists[i].size > 0) lists[i].apply(row, counter[i]);
      }
      row.name = row_name(lists, row, pattern);
      row.series = series_name(lists, row, pattern);
      // A pattern with a window takes no -1; this window is wider than any input.
      const PatternChoice kind = row.rescorer.pattern;
      if (kind != PatternChoice::checkpoint && kind != PatternChoice::full && row.rescorer.attention_window == -1)
        row.rescorer.attention_window = kMaxWindow;
      check_row(table, row);
      add_row(table, std::move(row));
      std::size_t digit = lists.size();
      while (digit > 0) {
        --digit;
        if (++counter[digit] < lists[digit].size) break;
        counter[digit] = 0;
        if (digit == 0) return;
      }
    }
  }

  SecondStageConfig base_config(TomlTable& table, const std::string& file) const {
    SecondStageConfig config;
    try {
      config = load_config((folder_ / file).lexically_normal()).rescorer;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
      table.fail_at("config", error.what(), "name a profile, relative to the experiment's folder");
    }
    if (!config.enabled) table.fail_at("config", file + " switches the rescorer off", "use kind = \"first stage\"");
    if (!config.model.empty() && config.stages.empty())
      table.fail_at("config", file + " sets a model", "name it under [[models]] instead");
    return config;
  }

  std::vector<List> lists_of(TomlTable& table, bool staged) {
    std::vector<List> lists;
    const std::vector<std::string> models = table.texts("models");
    require_known(table, "models", models, names_of(e_.models));
    lists.push_back({"model", models.size(), [models](ExperimentRow& row, std::size_t i) { row.model = models[i]; },
                     [](const ExperimentRow& row) { return row.model; }});
    const std::vector<std::string> patterns = table.texts("patterns");
    std::vector<PatternChoice> choices;
    for (const std::string& name : patterns)
      choices.push_back(parsed(table, "patterns", [&name] { return parse_pattern(name); }));
    lists.push_back({"pattern", choices.size(),
                     [choices](ExperimentRow& row, std::size_t i) { row.rescorer.pattern = choices[i]; },
                     [](const ExperimentRow& row) { return std::string(to_string(row.rescorer.pattern)); }});
    std::vector<std::int32_t> windows;
    for (const toml::node* element : table.elements("windows")) {
      const bool unlimited = element->is_string() && element->as_string()->get() == "inf";
      windows.push_back(unlimited ? -1 : table.whole_number_of(*element, "windows", 0, kMaxWindow));
    }
    lists.push_back({"window", windows.size(),
                     [windows](ExperimentRow& row, std::size_t i) { row.rescorer.attention_window = windows[i]; },
                     [](const ExperimentRow& row) { return window_name(row.rescorer.attention_window); }});
    std::vector<std::int32_t> lengths;
    for (const toml::node* element : table.elements("lengths"))
      lengths.push_back(table.whole_number_of(*element, "lengths", 0, 1000000));
    if (e_.costs && !lengths.empty()) table.fail_at("lengths", "[costs] has the lengths", "remove the key");
    lists.push_back({"length", lengths.size(),
                     [lengths](ExperimentRow& row, std::size_t i) { row.rescorer.max_length = lengths[i]; },
                     [](const ExperimentRow& row) { return fmt::to_string(row.rescorer.max_length); }});
    std::vector<LongDocuments> modes;
    static constexpr std::pair<std::string_view, LongDocuments> kModes[] = {
        {"truncate", LongDocuments::truncate}, {"maxp", LongDocuments::maxp}, {"firstp", LongDocuments::firstp},
        {"sump", LongDocuments::sump},         {"avgp", LongDocuments::avgp}, {"topk", LongDocuments::topk}};
    for (const std::string& name : table.texts("long_documents")) {
      const auto* const found =
          std::find_if(std::begin(kModes), std::end(kModes), [&name](const auto& mode) { return mode.first == name; });
      if (found == std::end(kModes)) {
        table.fail_at("long_documents", fmt::format("unknown mode \"{}\"", name),
                      "choose from " + join(kModes, ", ", [](const auto& mode) { return mode.first; }));
      }
      modes.push_back(found->second);
    }
    lists.push_back({"long_documents", modes.size(),
                     [modes](ExperimentRow& row, std::size_t i) { row.rescorer.long_documents = modes[i]; },
                     [](const ExperimentRow& row) { return std::string(to_string(row.rescorer.long_documents)); }});
    if (staged) {
      for (const List& list : lists) {
        if (list.size > 0) {
          table.fail(fmt::format("{} does not name the stage of the configuration that it is for", list.key),
                     "set it in the [[rescorer.stages]] of that file");
        }
      }
    }
    std::vector<Device> devices;
    for (const std::string& name : table.texts("devices"))
      devices.push_back(parsed(table, "devices", [&name] { return parse_device(name); }));
    lists.push_back({"device", devices.size(),
                     [devices](ExperimentRow& row, std::size_t i) {
                       for_all_stages(row, [&](StageConfig& stage) { stage.device = devices[i]; });
                     },
                     [](const ExperimentRow& row) { return to_string(row.rescorer.device); }});
    std::vector<Precision> precisions;
    for (const std::string& name : table.texts("precisions"))
      precisions.push_back(parsed(table, "precisions", [&name] { return parse_precision(name); }));
    lists.push_back({"precision", precisions.size(),
                     [precisions](ExperimentRow& row, std::size_t i) {
                       for_all_stages(row, [&](StageConfig& stage) { stage.precision = precisions[i]; });
                     },
                     [](const ExperimentRow& row) { return std::string(to_string(row.rescorer.precision)); }});
    return lists;
  }

  static void for_all_stages(ExperimentRow& row, const std::function<void(StageConfig&)>& use) {
    use(row.rescorer);
    for (StageConfig& stage : row.rescorer.stages) use(stage);
  }

  template <typename Parse>
  auto parsed(TomlTable& table, const std::string& key, Parse&& parse) const -> decltype(parse()) {
    try {
      return parse();
    } catch (const Error& error) {
      table.fail_at(key, error.place().empty() ? error.problem() : error.place() + " " + error.problem(),
                    error.remedy());
    }
  }

  // Fills in {model}, {window} ...; without a name, the values of the lists that have several.
  std::string row_name(const std::vector<List>& lists, const ExperimentRow& row, const std::string& pattern) const {
    if (pattern.empty()) {
      std::vector<std::string> parts;
      for (const List& list : lists) {
        if (list.size > 1 || (list.size == 1 && (list.key == "model" || list.key == "pattern")))
          parts.push_back(list.key == "window" ? "w=" + list.shown(row) : list.shown(row));
      }
      return parts.empty() ? "model" : join(parts, " ");
    }
    std::string name = pattern;
    for (const List& list : lists) {
      const std::string place = "{" + list.key + "}";
      const std::string shown = list.shown(row);
      for (std::size_t at = 0; (at = name.find(place, at)) != std::string::npos; at += shown.size())
        name.replace(at, place.size(), shown);
    }
    return name;
  }

  // The row's name without its window: "sparse w=4" and "sparse 4" become "sparse".
  std::string series_name(const std::vector<List>& lists, const ExperimentRow& row, std::string pattern) const {
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
    std::vector<List> others = lists;
    std::erase_if(others, [](const List& list) { return list.key == "window"; });
    return row_name(others, row, "");
  }

  static bool is_word_character(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '=' || c == '_' ||
           c == '.' || c == '-';
  }

  void check_row(TomlTable& table, const ExperimentRow& row) const {
    Config config;
    config.rescorer = row.rescorer;
    try {
      check_config(config);
    } catch (const Error& error) {
      table.fail(fmt::format("row \"{}\": {} {}", row.name, error.place(), error.problem()), error.remedy());
    }
  }

  void add_row(TomlTable& table, ExperimentRow row) {
    if (e_.row(row.name) != nullptr) {
      table.fail_at("name", fmt::format("there are two rows with the name \"{}\"", row.name),
                    "let the name say what differs, for example name = \"{model} w={window}\"");
    }
    if (e_.rows.size() == kMaxRows) table.fail(fmt::format("there are more than {} rows", kMaxRows), "use fewer");
    e_.rows.push_back(std::move(row));
  }

  void read_published(TomlTable& table) {
    const std::string measure = table.required_text("measure", "name the measure");
    std::vector<std::string> measures = names_of(e_.measures);
    if (e_.costs) measures = {kTimes, "MB"};
    if (e_.times) measures.push_back(kTimes);
    require_known(table, "measure", {measure}, measures);
    const std::vector<std::string> columns = table.texts("columns");
    require_known(table, "columns", columns, e_.columns());
    std::optional<TomlTable> values = table.table("values");
    if (columns.empty() || !values)
      table.fail("[[published]] needs columns and values",
                 "write columns = [...] and a line per row in [published.values]");
    for (const auto& [key, node] : config::in_order(values->content())) {
      const std::string row(key->str());
      require_known(*values, row, {row}, names_of(e_.rows));
      const std::vector<const toml::node*> figures = values->elements(row);
      if (figures.size() != columns.size()) {
        values->fail_at(row, fmt::format("\"{}\" has {} values for {} columns", row, figures.size(), columns.size()),
                        "write nan where nothing was published");
      }
      for (std::size_t i = 0; i < figures.size(); ++i) {
        const std::optional<double> value = figures[i]->value<double>();
        if (!figures[i]->is_number() || !value)
          values->fail(*figures[i], "a value is not a number", "write numbers or nan");
        if (!std::isnan(*value)) e_.published[measure][columns[i]][row] = *value;
      }
    }
    table.finish();
  }

  void require_references() {
    const std::vector<std::string> rows = names_of(e_.rows);
    const auto require = [&](const std::string& holder, const std::string& row) {
      if (row.empty() || e_.row(row) != nullptr) return;
      root_.fail_at("reference", fmt::format("{} is compared with the row \"{}\", which does not exist", holder, row),
                    config::did_you_mean(row, rows));
    };
    require("the experiment", e_.reference);
    for (const ExperimentTask& task : e_.tasks) require(fmt::format("task \"{}\"", task.name), task.reference);
    for (const ExperimentAverage& one : e_.averages) require(fmt::format("average \"{}\"", one.name), one.reference);
  }

  TomlTable root_;
  std::filesystem::path folder_, data_;
  Experiment e_;
};

}  // namespace

const ExperimentModel& Experiment::model(std::string_view name) const {
  return *std::find_if(models.begin(), models.end(), [name](const ExperimentModel& one) { return one.name == name; });
}

const ExperimentTask* Experiment::task(std::string_view name) const {
  const auto found =
      std::find_if(tasks.begin(), tasks.end(), [name](const ExperimentTask& one) { return one.name == name; });
  return found == tasks.end() ? nullptr : &*found;
}

const ExperimentRow* Experiment::row(std::string_view name) const {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [name](const ExperimentRow& one) { return one.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<std::string> Experiment::columns() const {
  std::vector<std::string> names;
  for (const ExperimentTask& one : tasks) {
    if (one.shown) names.push_back(one.name);
  }
  for (const ExperimentAverage& one : averages) names.push_back(one.name);
  if (costs) {
    for (const std::int32_t length : costs->lengths) names.push_back(fmt::to_string(length));
  }
  return names;
}

std::string Experiment::reference_of(std::string_view column) const {
  for (const ExperimentTask& one : tasks) {
    if (one.name == column && !one.reference.empty()) return one.reference;
  }
  for (const ExperimentAverage& one : averages) {
    if (one.name == column && !one.reference.empty()) return one.reference;
  }
  return reference;
}

std::string window_name(std::optional<std::int32_t> window) {
  if (!window) return "checkpoint";
  return *window < 0 || *window == kMaxWindow ? "inf" : fmt::to_string(*window);
}

Experiment load_experiment(const std::filesystem::path& file, const std::filesystem::path& data) {
  return parse_experiment(config::read_toml_file(file), file.string(), std::filesystem::absolute(file).parent_path(),
                          data.empty() ? data : std::filesystem::absolute(data));
}

Experiment parse_experiment(std::string_view toml_text, std::string_view name, const std::filesystem::path& folder,
                            const std::filesystem::path& data) {
  const toml::table root = config::parse_toml(toml_text, name);
  return Reader(root, name, folder, data).read();
}

}  // namespace relucent::index_tools
