#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/significance.h"
#include "index_tools/evaluation/topics.h"
#include "relucent/config.h"

namespace relucent::index_tools {

/// A checkpoint of an experiment.
struct ExperimentModel {
  std::string name;
  std::filesystem::path folder;  ///< empty: the bundled checkpoint
  std::string get;               ///< where one gets it
  bool or_bundled = false;       ///< the bundled checkpoint takes its place if the folder is missing
};

/// Topics with judgments, and the candidates to rerank: from a file, or the first stage's best hits of an index, or a
/// run's.
struct ExperimentTask {
  std::string name;
  std::filesystem::path candidates;     ///< a TIREx rerank file; empty: searched in `index`
  std::filesystem::path index, topics;  ///< both or neither
  std::filesystem::path statistics;     ///< an index whose statistics a MIR's graphs take; empty: `index`
  /// For a MIR's graphs: weights of words by document, or a log of queries that gives them; entities by document.
  /// Empty: tf * idf, and no entities.
  std::filesystem::path weights, log, entities;
  std::filesystem::path run;  ///< whose documents' texts are taken from `index`; empty: BM25's best hits
  TopicText topic_text = TopicText::title;
  std::int32_t hits = 100;
  FirstStageConfig first_stage = {};  ///< what searches `index`
  std::filesystem::path qrels;
  /// If set, only topics whose relevant candidates have on average so many word pieces of the bundled checkpoint's
  /// vocabulary: from the first number to below the second.
  std::optional<std::pair<std::int32_t, std::int32_t>> relevant_pieces;
  std::string get;        ///< where one gets the files
  std::string reference;  ///< the row that the others are compared with; empty: the experiment's
  bool shown = true;      ///< has a column of its own; otherwise it only enters averages
};

/// A mean over several tasks or earlier averages.
struct ExperimentAverage {
  std::string name;
  std::vector<std::string> of;
  bool over_tasks = false;  ///< the mean of their values; otherwise of all their queries' values
  std::string reference;
};

/// One line of the result: a model with its settings, the first stage alone, or runs of another program.
struct ExperimentRow {
  enum class Kind { model, first_stage, runs };
  std::string name;
  Kind kind = Kind::model;
  std::string series;                                ///< the name without its window: rows of one line of a plot
  std::string model;                                 ///< an ExperimentModel's name
  SecondStageConfig rescorer;                        ///< settings without the model
  std::map<std::string, std::filesystem::path> run;  ///< of Kind::runs: a run file per task
  std::vector<std::string> tasks;                    ///< that the row is computed for
};

/// What times and memory are measured on: generated texts.
struct ExperimentCosts {
  std::vector<std::int32_t> lengths;  ///< tokens per input, special tokens included
  std::int32_t candidates = 20;
  std::int32_t query_tokens = 10;
  std::int32_t runs = 5;
};

/// A figure that others published, with the mark that they printed behind it.
struct PublishedFigure {
  double value = 0;
  std::string mark;
};
/// By measure, column (a task, an average or a length) and row.
using PublishedFigures = std::map<std::string, std::map<std::string, std::map<std::string, PublishedFigure>>>;

/// What the mark † means.
enum class Dagger {
  difference,   ///< from the reference; ≈ is equivalence to it
  equivalence,  ///< to the reference; nothing marks a difference
};

/// The name of milliseconds per candidate among the measures.
inline constexpr const char* kTimes = "ms";

/// An experiment's file. Paths are absolute.
struct Experiment {
  std::string title, source;
  std::vector<Measure> measures;             ///< of effectiveness
  bool times = false;                        ///< whether milliseconds per candidate ("ms") are also a measure
  std::string reference;                     ///< a row; empty: no comparisons
  double bound = 0.02;                       ///< of equivalence
  double level = 0.05;                       ///< of significance
  Correction correction = Correction::holm;  ///< of a column's p-values, one per row
  Dagger dagger = Dagger::difference;
  std::vector<ExperimentModel> models;
  std::vector<ExperimentTask> tasks;
  std::vector<ExperimentAverage> averages;
  std::vector<ExperimentRow> rows;
  std::optional<ExperimentCosts> costs;  ///< then there are no tasks, and rows have no length
  PublishedFigures published;

  const ExperimentModel& model(std::string_view name) const;  ///< requires that there is one
  const ExperimentTask* task(std::string_view name) const;    ///< nullptr if there is none
  const ExperimentRow* row(std::string_view name) const;
  /// Names of the results' columns: tasks and averages, or lengths.
  std::vector<std::string> columns() const;
  /// The row that the others are compared with in a column; empty if there is none.
  std::string reference_of(std::string_view column) const;
};

/// A window that is wider than any input.
inline constexpr std::int32_t kWidestWindow = 1000000;
/// A window's name in rows: "inf" or the number.
std::string window_name(std::optional<std::int32_t> window);

}  // namespace relucent::index_tools
