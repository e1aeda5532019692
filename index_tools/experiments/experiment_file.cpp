#include "index_tools/experiments/experiment_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "config/toml_text.h"
#include "index_tools/experiments/experiment_parts.h"
#include "index_tools/experiments/row_lists.h"
#include "index_tools/experiments/toml_table.h"
#include "model/checkpoint/hub_cache.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using config::toml_error;

constexpr std::size_t kMaxRows = 2000;

class ExperimentReader {
 public:
  ExperimentReader(const toml::table& root, std::string_view file, std::filesystem::path folder,
                   std::filesystem::path data)
      : root_(root, file, "the experiment"), folder_(std::move(folder)), data_(std::move(data)) {}

  Experiment read() {
    const std::optional<std::string> own_data = root_.text("data");
    if (data_.empty()) data_ = own_data.value_or("");
    data_ = (folder_ / data_).lexically_normal();
    e_.title = root_.required_text("title", "say in a line what the experiment shows");
    e_.source = root_.text("source").value_or("");
    e_.bound = root_.number("bound", 0, 1).value_or(e_.bound);
    e_.level = root_.number("level", 0, 1).value_or(e_.level);
    e_.correction = root_.choice<Correction>(
        "correction", {{"holm", Correction::holm}, {"bonferroni", Correction::bonferroni}, {"none", Correction::none}},
        e_.correction);
    e_.dagger = root_.choice<Dagger>(
        "dagger", {{"difference", Dagger::difference}, {"equivalence", Dagger::equivalence}}, e_.dagger);
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

  /// A model's folder, or where Hugging Face's cache has the model of that name.
  std::filesystem::path model_at(const std::string& named) const {
    std::filesystem::path folder = path(named);
    if (is_there(folder)) return folder;
    const std::optional<HubName> name = read_hub_name(named);
    return (name ? find_snapshot(hub_cache(), *name) : std::nullopt).value_or(std::move(folder));
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
    model.folder = model_at(table.text("folder").value_or(""));
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
    task.weights = path(table.text("weights").value_or(""));
    task.log = path(table.text("log").value_or(""));
    task.entities = path(table.text("entities").value_or(""));
    task.topic_text = table.choice<TopicText>(
        "topic_text",
        {{"title", TopicText::title}, {"description", TopicText::description}, {"narrative", TopicText::narrative}},
        TopicText::title);
    task.run = path(table.text("run").value_or(""));
    task.hits = table.whole_number("hits", 1, 100000).value_or(task.hits);
    task.qrels = path(table.required_text("qrels", "name the file of judgments"));
    std::vector<std::int32_t> pieces;
    for (const toml::node* element : table.elements("relevant_pieces"))
      pieces.push_back(table.whole_number_of(*element, "relevant_pieces", 0, 1'000'000'000));
    if (pieces.size() == 2 && pieces[0] < pieces[1]) {
      task.relevant_pieces = {pieces[0], pieces[1]};
    } else if (!pieces.empty()) {
      table.fail_at("relevant_pieces", "is not a range", "write two numbers, such as [512, 1024]");
    }
    task.get = table.text("get").value_or("");
    task.reference = table.text("reference").value_or("");
    task.shown = table.boolean("shown").value_or(true);
    if (task.index.empty() != task.topics.empty() || task.index.empty() == task.candidates.empty()) {
      table.fail(fmt::format("task \"{}\" does not name where its candidates come from", task.name),
                 "write either candidates = \"rerank.jsonl.gz\" or both index and topics");
    }
    if (!task.statistics.empty() && !task.index.empty())
      table.fail_at("statistics", "the task's index has the statistics", "remove the key");
    if (!task.weights.empty() && !task.log.empty())
      table.fail_at("log", "the task's weights are from a file", "remove weights or log");
    if (!task.run.empty() && task.index.empty()) {
      table.fail_at("run", "a run has no texts", "also write index and topics, in place of candidates");
    }
    if (const auto profile = table.text("first_stage")) {
      if (task.index.empty() || !task.run.empty()) {
        table.fail_at("first_stage", "has no effect: the candidates are not searched", "remove the key");
      }
      task.first_stage = profile_of(table, "first_stage", *profile).first_stage;
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

  void read_models_rows(TomlTable& table, const ExperimentRow& first, const std::string& pattern) {
    ExperimentRow base = first;
    base.rescorer.window = 100000;
    if (const auto config = table.text("config")) base.rescorer = base_config(table, *config);
    const bool staged = !base.rescorer.stages.empty();
    if (staged && e_.costs) {
      table.fail_at("config", "[costs] measures one model, and the configuration has several stages",
                    "make a row of each stage's model");
    }
    const std::vector<RowList> lists = read_row_lists(table, staged, e_.costs.has_value());
    require_known(table, "models", table.texts("models"), names_of(e_.models));
    table.finish();
    std::size_t rows = 1;
    for (const RowList& list : lists) {
      rows *= std::max<std::size_t>(list.size, 1);
      if (rows > kMaxRows) fail_for_rows(table);
    }
    for (ExperimentRow& row : combinations(base, lists, pattern)) {
      check_row(table, row);
      add_row(table, std::move(row));
    }
  }

  Config profile_of(TomlTable& table, const char* key, const std::string& file) const {
    try {
      return load_config((folder_ / file).lexically_normal());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
      table.fail_at(key, error.what(), "name a profile, relative to the experiment's folder");
    }
  }

  SecondStageConfig base_config(TomlTable& table, const std::string& file) const {
    SecondStageConfig config = profile_of(table, "config", file).rescorer;
    if (!config.enabled) table.fail_at("config", file + " switches the rescorer off", "use kind = \"first stage\"");
    if (!config.model.empty() && config.stages.empty())
      table.fail_at("config", file + " sets a model", "name it under [[models]] instead");
    return config;
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

  [[noreturn]] static void fail_for_rows(const TomlTable& table) {
    table.fail(fmt::format("there are more than {} rows", kMaxRows), "use fewer");
  }

  void add_row(TomlTable& table, ExperimentRow row) {
    if (e_.row(row.name) != nullptr) {
      table.fail_at("name", fmt::format("there are two rows with the name \"{}\"", row.name),
                    "let the name say what differs, for example name = \"{model} w={window}\"");
    }
    if (e_.rows.size() == kMaxRows) fail_for_rows(table);
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
        const std::optional<PublishedFigure> figure = published_figure(*figures[i]);
        if (!figure) {
          values->fail(*figures[i], "a value is not a number",
                       "write a number, nan, or a number with its mark, such as \"0.65†\"");
        }
        if (!std::isnan(figure->value)) e_.published[measure][columns[i]][row] = *figure;
      }
    }
    table.finish();
  }

  /// A number, or a text that begins with one: its mark follows.
  static std::optional<PublishedFigure> published_figure(const toml::node& node) {
    if (const auto value = node.value<double>(); node.is_number() && value) return PublishedFigure{*value, ""};
    const auto text = node.value<std::string>();
    PublishedFigure figure;
    if (!node.is_string() || !text) return std::nullopt;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), figure.value);
    if (error != std::errc() || !std::isfinite(figure.value)) return std::nullopt;
    figure.mark = trim(std::string_view(*text).substr(static_cast<std::size_t>(end - text->data())));
    return figure;
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

Experiment load_experiment(const std::filesystem::path& file, const std::filesystem::path& data) {
  return parse_experiment(config::read_toml_file(file), file.string(), std::filesystem::absolute(file).parent_path(),
                          data.empty() ? data : std::filesystem::absolute(data));
}

Experiment parse_experiment(std::string_view toml_text, std::string_view name, const std::filesystem::path& folder,
                            const std::filesystem::path& data) {
  const toml::table root = config::parse_toml(toml_text, name);
  return ExperimentReader(root, name, folder, data).read();
}

}  // namespace relucent::index_tools
