#include "index_tools/experiments/experiment_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/checksum.h"
#include "base/text.h"
#include "index_tools/evaluation/comparison.h"
#include "index_tools/evaluation/qrels.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/experiments/content_hash.h"
#include "index_tools/experiments/experiment_parts.h"
#include "index_tools/experiments/topic_result.h"
#include "relucent/candidate_inputs.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/model/tokenizer.h"
#include "relucent/times.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

/// What a row scored for a task.
struct TaskResult {
  Evaluation evaluation;
  std::optional<double> milliseconds;
  std::optional<std::size_t> truncated;
  std::size_t without_text = 0;
};

/// A row's model and settings.
struct RowModel {
  SecondStageConfig config;
  std::string description;  ///< of the scoring; of a MIR without the index
  bool is_mir = false;      ///< or one of the stages is
};

using Results = std::map<std::pair<std::string, std::string>, TaskResult>;  // by row and column

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Names of files have no room for everything that a row's name may hold.
std::string plain_name(const std::string& row, const std::string& task) {
  std::string name = row + "." + task;
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
                       c == '-' || c == '=' || c == ',' || static_cast<unsigned char>(c) >= 0x80;
    if (!plain) c = '_';
  }
  return name;
}

std::int64_t bytes_of(const RerankQuery& query) {
  std::int64_t bytes = 0;
  for (const RerankCandidate& candidate : query.candidates)
    bytes += static_cast<std::int64_t>(query.text.size() + candidate.text.size());
  return bytes;
}

RankedQuery ranked(const RerankQuery& query, const std::optional<TopicResult>& result) {
  RankedQuery ranked{query.id, {}};
  if (!result) {  // the first stage's order, whatever its scores
    for (const RerankCandidate& candidate : query.candidates)
      ranked.hits.push_back({candidate.docno, -static_cast<double>(candidate.rank)});
    return ranked;
  }
  for (const TopicResult::Hit& hit : result->order) {
    if (hit.candidate >= query.candidates.size())
      throw Error(ErrorKind::internal, "cache", "a result has more hits than the topic has candidates");
    ranked.hits.push_back({query.candidates[hit.candidate].docno, hit.score});
  }
  return ranked;
}

Run run_of(const std::vector<RankedQuery>& queries) {
  Run run;
  for (const RankedQuery& query : queries) {
    run.queries[query.id] = with_scores_apart(query).hits;
    run.query_order.push_back(query.id);
  }
  return run;
}

/// Scores a query's candidates. MakeReady computes what needs no query before, which is not part of the time.
using Score = std::function<RescoredCandidates(const StopSignal& stop)>;
using MakeReady = std::function<Score(const RerankQuery& query, const StopSignal& stop)>;

/// The candidates with the embeddings that stand for their texts. `bytes` keeps them.
void add_embeddings(const EmbeddingKind& kind, std::vector<Candidate>& candidates, std::deque<std::string>& bytes,
                    const StopSignal& stop) {
  std::vector<std::string_view> texts;
  std::vector<Candidate*> of;
  for (Candidate& candidate : candidates) {
    if (trim(candidate.text).empty()) continue;
    texts.push_back(candidate.text);
    of.push_back(&candidate);
  }
  const std::vector<std::vector<float>> embeddings = kind.encode(texts, stop);
  for (std::size_t i = 0; i < of.size(); ++i) {
    const std::string_view vectors = EmbeddingKind::bytes_of(embeddings[i]);
    bytes.push_back(kind.shape().rows > 0 ? std::string(vectors)
                                          : EmbeddingKind::stored_vectors(EmbeddingNumbers::fp32, vectors));
    of[i]->inputs.push_back({kind.name(), bytes.back()});
  }
}

/// The kind of embedding by which a model encodes candidates apart from the query; null for others.
std::shared_ptr<const EmbeddingKind> embedding_kind(std::span<const RescoringStage> stages) {
  if (stages.size() != 1) return nullptr;
  for (const auto& kind : stages.front().scorer->inputs()) {
    if (auto embedding = std::dynamic_pointer_cast<const EmbeddingKind>(kind)) return embedding;
  }
  return nullptr;
}

TopicResult rerank(const MakeReady& make_ready, const RerankQuery& query, const std::stop_token& stop) {
  const Score score = make_ready(query, StopSignal{{}, stop});
  const auto started = std::chrono::steady_clock::now();
  const RescoredCandidates rescored = score(StopSignal{{}, stop});
  TopicResult result;
  result.milliseconds = in_milliseconds(time_since(started));
  for (const CombinedHit& hit : rescored.order) result.order.push_back({hit.index, hit.score});
  const RescoreReport report = rescored.report();
  result.without_text = static_cast<std::size_t>(report.without_text);
  result.truncated = static_cast<std::size_t>(report.truncated);
  return result;
}

/// A name of its own for each row and task: a number tells those apart that look alike.
std::map<std::pair<std::string, std::string>, std::string> run_file_names(const Experiment& experiment) {
  std::map<std::pair<std::string, std::string>, std::string> names;
  std::set<std::string> taken;
  for (const ExperimentRow& row : experiment.rows) {
    for (const ExperimentTask& task : experiment.tasks) {
      const std::string plain = plain_name(row.name, task.name);
      std::string name = plain;
      for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}-{}", plain, number);
      names[{row.name, task.name}] = name + ".run";
    }
  }
  return names;
}

/// Keeps the topics whose relevant candidates are as long as the task wants.
void keep_by_length(const ExperimentTask& task, const Qrels& qrels, std::vector<RerankQuery>& queries) {
  static const std::shared_ptr<const Tokenizer> tokenizer = load_checkpoint_tokenizer(default_model()).tokenizer;
  const auto [low, high] = *task.relevant_pieces;
  std::erase_if(queries, [&, least = low, below = high](const RerankQuery& query) {
    const Judgments& judged = qrels.at(query.id);
    std::size_t pieces = 0, relevant = 0;
    std::vector<std::int32_t> ids;
    for (const RerankCandidate& candidate : query.candidates) {
      const auto judgment = judged.find(candidate.docno);
      if (judgment == judged.end() || judgment->second < 1) continue;
      ids.clear();
      tokenizer->encode(candidate.text, std::numeric_limits<std::size_t>::max(), ids);
      pieces += ids.size();
      ++relevant;
    }
    return relevant == 0 || pieces < relevant * static_cast<std::size_t>(least) ||
           pieces >= relevant * static_cast<std::size_t>(below);
  });
}

class Runner {
 public:
  Runner(const Experiment& experiment, const ExperimentRun& run)
      : e_(experiment), run_(run), parts_(parts_of(experiment)), run_files_(run_file_names(experiment)) {}

  StudyReport run() {
    std::vector<const ExperimentTask*> incomplete;
    std::int64_t missing_bytes = 0;
    for (const ExperimentTask& task : e_.tasks) {
      if (!is_present(task)) continue;
      const std::int64_t missing = look_up(task);
      if (missing > 0) incomplete.push_back(&task);
      missing_bytes += missing;
    }
    if (!incomplete.empty()) run_.begin(missing_bytes);
    for (const ExperimentTask* task : incomplete) compute(*task);
    if (results_.empty()) fail_for_want_of_everything();
    add_averages();
    return report();
  }

 private:
  struct Prepared {
    std::vector<RerankQuery> queries;  // judged
    std::vector<std::string> hashes;   // the cache's keys
    Qrels qrels;
  };

  bool is_present(const ExperimentTask& task) const {
    return std::none_of(parts_.begin(), parts_.end(),
                        [&task](const ExperimentPart& part) { return !part.present && names(part.tasks, task.name); });
  }

  bool is_present(const ExperimentRow& row, const ExperimentTask& task) const {
    if (!names(row.tasks, task.name)) return false;
    if (row.kind == ExperimentRow::Kind::runs) return is_there(row.run.at(task.name));
    return std::none_of(parts_.begin(), parts_.end(), [&row](const ExperimentPart& part) {
      return !part.present && !part.replaced && part.tasks.empty() && names(part.rows, row.name);
    });
  }

  Prepared prepare(const ExperimentTask& task) const {
    Prepared prepared;
    prepared.qrels = read_qrels(task.qrels);
    RerankInput input = task.candidates.empty() ? run_.search(task) : read_rerank_input(task.candidates, false);
    const std::string first = input.queries.front().id;
    std::erase_if(input.queries, [&](const RerankQuery& query) { return !prepared.qrels.contains(query.id); });
    if (input.queries.empty()) {
      throw Error(ErrorKind::invalid_data, task.qrels.string(),
                  fmt::format("judges none of the topics of task \"{}\" (first topic: \"{}\" there, \"{}\" here)",
                              task.name, first, prepared.qrels.begin()->first),
                  "name the judgments of these topics");
    }
    if (task.relevant_pieces) keep_by_length(task, prepared.qrels, input.queries);
    if (run_.topics > 0 && input.queries.size() > run_.topics) input.queries.resize(run_.topics);
    prepared.queries = std::move(input.queries);
    for (const RerankQuery& query : prepared.queries) prepared.hashes.push_back(to_hex(hash_of_topic(query)));
    return prepared;
  }

  /// Does what needs a row's model. If that fails, the row stays empty from then on, a note has the reason, and the
  /// result is false. A device that fails ends the experiment: it would also fail for the other rows.
  template <typename Work>
  bool attempt(const ExperimentRow& row, const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      switch (error.kind()) {
        case ErrorKind::usage:
        case ErrorKind::invalid_data:
        case ErrorKind::io:
        case ErrorKind::unsupported: break;
        default: throw;
      }
      if (!failure_) failure_ = error;
      failed_.insert(row.name);
      note(fmt::format("row \"{}\" is not computed: {}", row.name, error.what()));
      return false;
    }
  }

  void note(std::string text) {
    if (!names(notes_, text)) notes_.push_back(std::move(text));
  }

  RowModel read_model(const ExperimentRow& row) {
    RowModel model;
    model.config = resolved(e_, row);
    for (const StageConfig& stage : model.config.effective_stages()) {
      if (stage.module != ScorerConfig().module) continue;
      // Says what is wrong with a checkpoint before anything is computed.
      const CheckpointInfo info = inspect_checkpoint(model_folder(stage.model));
      model.is_mir = model.is_mir || info.model_type == "mir";
      const bool replaced = model.config.model.empty() && !row.model.empty() && !e_.model(row.model).folder.empty();
      if (!replaced || model.config.max_length <= info.max_positions) continue;
      note(fmt::format("row \"{}\" reads {} of {} tokens: the bundled checkpoint has no more positions", row.name,
                       info.max_positions, model.config.max_length));
      model.config.max_length = info.max_positions;
    }
    model.description = description_of_scoring(model.config);
    return model;
  }

  /// What the row's results for a task follow from besides the topic; nothing if they cannot be computed.
  std::optional<std::string> description_of(const ExperimentRow& row, const ExperimentTask& task) {
    const auto [place, is_new] = models_.try_emplace(row.name);
    RowModel& model = place->second;
    if (is_new) attempt(row, [&] { model = read_model(row); });
    if (failed_.contains(row.name)) return std::nullopt;
    if (!model.is_mir) return model.description;
    const fs::path& index = index_of(task);
    if (index.empty()) {
      note(
          fmt::format("row \"{}\" has a MIR, which needs an index's statistics: task \"{}\" names none (statistics = "
                      "\"INDEX\")",
                      row.name, task.name));
    }
    if (index.empty() || !is_there(index)) return std::nullopt;
    const std::pair<const char*, const fs::path*> notes[] = {
        {"weights", &task.weights}, {"log", &task.log}, {"entities", &task.entities}};
    if (std::ranges::any_of(notes, [](const auto& one) { return !one.second->empty() && !is_there(*one.second); })) {
      return std::nullopt;
    }
    std::string description;
    const auto add_graphs = [&] {
      description = fmt::format("{}index {}\n", model.description, to_hex(hash_of_index(index)));
      for (const auto& [name, file] : notes) {
        if (!file->empty()) description += fmt::format("{} {}\n", name, to_hex(checksum_of_file(*file)));
      }
    };
    return attempt(row, add_graphs) ? std::optional(description) : std::nullopt;
  }

  static const fs::path& index_of(const ExperimentTask& task) {
    return task.statistics.empty() ? task.index : task.statistics;
  }

  // Evaluates the rows that need no computing; returns the bytes of text that the others have yet to read.
  std::int64_t look_up(const ExperimentTask& task) {
    const Prepared prepared = prepare(task);
    if (prepared.queries.empty()) {
      note(fmt::format("task \"{}\" is empty: no topic has relevant candidates of {} to {} word pieces", task.name,
                       task.relevant_pieces->first, task.relevant_pieces->second - 1));
      return 0;
    }
    std::int64_t missing = 0;
    for (const ExperimentRow& row : e_.rows) {
      if (!is_present(row, task)) continue;
      stop_if_due();
      if (row.kind == ExperimentRow::Kind::runs) {
        Run run = read_run(row.run.at(task.name));
        const auto shared = std::count_if(prepared.queries.begin(), prepared.queries.end(),
                                          [&run](const RerankQuery& one) { return run.queries.contains(one.id); });
        if (static_cast<std::size_t>(shared) < prepared.queries.size()) {
          note(fmt::format("the run of row \"{}\" has {} of the {} judged topics of task \"{}\"", row.name, shared,
                           prepared.queries.size(), task.name));
        }
        if (shared == 0 && run_.topics > 0) continue;
        std::erase_if(run.queries, [&](const auto& query) {
          return run_.topics > 0 && std::none_of(prepared.queries.begin(), prepared.queries.end(),
                                                 [&](const RerankQuery& one) { return one.id == query.first; });
        });
        keep(row, task, run, prepared.qrels);
      } else if (row.kind == ExperimentRow::Kind::first_stage) {
        evaluate_row(row, task, prepared, nullptr);
      } else if (const std::optional<std::string> description = description_of(row, task)) {
        const ResultCache cache(run_.cache, *description);
        std::int64_t of_row = 0;
        for (std::size_t i = 0; i < prepared.queries.size(); ++i) {
          if (!cache.find(prepared.hashes[i])) of_row += std::max<std::int64_t>(1, bytes_of(prepared.queries[i]));
        }
        missing += of_row;
        if (of_row == 0) evaluate_row(row, task, prepared, &cache);
      }
    }
    return missing;
  }

  void compute(const ExperimentTask& task) {
    const Prepared prepared = prepare(task);  // once more: only one task's texts are in memory at a time
    for (const ExperimentRow& row : e_.rows) {
      if (!is_present(row, task) || results_.contains({row.name, task.name})) continue;
      const std::optional<std::string> description = description_of(row, task);
      if (!description) continue;
      ResultCache cache(run_.cache, *description);
      if (score(row, task, prepared, cache)) evaluate_row(row, task, prepared, &cache);
    }
  }

  // Completes the cache. False if the row cannot be computed.
  bool score(const ExperimentRow& row, const ExperimentTask& task, const Prepared& prepared, ResultCache& cache) {
    MakeReady reranker;  // loaded when the first topic is missing
    for (std::size_t i = 0; i < prepared.queries.size(); ++i) {
      stop_if_due();
      if (cache.find(prepared.hashes[i])) continue;
      const RerankQuery& query = prepared.queries[i];
      TopicResult result;
      const auto work = [&] {
        if (!reranker) reranker = reranker_of(row, task);
        result = rerank(reranker, query, run_.stop);
      };
      if (!attempt(row, work)) return false;
      cache.add(prepared.hashes[i], result);
      candidates_done_ += static_cast<std::int64_t>(query.candidates.size());
      bytes_done_ += std::max<std::int64_t>(1, bytes_of(query));
      run_.update(candidates_done_, bytes_done_);
    }
    return true;
  }

  MakeReady reranker_of(const ExperimentRow& row, const ExperimentTask& task) {
    SecondStageConfig config = models_.at(row.name).config;
    // An order that is not the model's would be a wrong result.
    config.on_error = OnError::fail;
    config.timeout = {};
    config.find_passages = false;
    for (StageConfig* stage : all_stages(config)) {
      stage->fallback_device = FallbackDevice::none;
      if (run_.threads > 0) stage->threads = run_.threads;
    }
    std::vector<RescoringStage> stages = make_stages(config, make_scorers(config));
    for (const RescoringStage& stage : stages) {
      const std::string warning = stage.scorer->warning();
      if (!warning.empty() && warnings_.insert(warning).second) run_.note(warning);
    }
    if (models_.at(row.name).is_mir) {
      return [reranker = run_.with_graphs(task, index_of(task), config, std::move(stages))](const RerankQuery& query,
                                                                                            const StopSignal&) {
        return [&reranker, &query](const StopSignal& stop) { return reranker(query, stop); };
      };
    }
    return [config, stages = std::move(stages)](const RerankQuery& query, const StopSignal& stop) {
      std::vector<Candidate> candidates = scorer_candidates(query);
      const auto bytes = std::make_shared<std::deque<std::string>>();
      if (const auto kind = embedding_kind(stages)) add_embeddings(*kind, candidates, *bytes, stop);
      return [&config, &stages, &query, candidates = std::move(candidates), bytes](const StopSignal& due) {
        return rescore_candidates(config, stages, query.text, candidates, due);
      };
    };
  }

  static std::vector<StageConfig*> all_stages(SecondStageConfig& config) {
    std::vector<StageConfig*> all = {&config};
    for (StageConfig& stage : config.stages) all.push_back(&stage);
    return all;
  }

  void evaluate_row(const ExperimentRow& row, const ExperimentTask& task, const Prepared& prepared,
                    const ResultCache* cache) {
    std::vector<RankedQuery> queries;
    double milliseconds = 0;
    std::size_t truncated = 0, without_text = 0, candidates = 0;
    for (std::size_t i = 0; i < prepared.queries.size(); ++i) {
      const auto result = cache != nullptr ? cache->find(prepared.hashes[i]) : std::nullopt;
      queries.push_back(ranked(prepared.queries[i], result));
      candidates += prepared.queries[i].candidates.size();
      if (!result) continue;
      milliseconds += result->milliseconds;
      truncated += result->truncated;
      without_text += result->without_text;
    }
    if (!run_.runs.empty()) {
      fs::create_directories(run_.runs);
      write_run(run_.runs / run_files_.at({row.name, task.name}), queries, "relucent");
    }
    const bool scored = cache != nullptr && candidates > 0;
    TaskResult& result = keep(row, task, run_of(queries), prepared.qrels);
    if (!scored) return;
    result.milliseconds = milliseconds / static_cast<double>(candidates);
    result.truncated = truncated;
    result.without_text = without_text;
  }

  TaskResult& keep(const ExperimentRow& row, const ExperimentTask& task, const Run& run, const Qrels& qrels) {
    TaskResult result;
    result.evaluation = evaluate(run, qrels, e_.measures);
    if (result.evaluation.queries.empty()) {
      throw Error(ErrorKind::invalid_data, fmt::format("row \"{}\", task \"{}\"", row.name, task.name),
                  "has no topic in common with the judgments", "name a run of the task's topics");
    }
    return results_[{row.name, task.name}] = std::move(result);
  }

  void add_averages() {
    for (const ExperimentAverage& average : e_.averages) {
      for (const ExperimentRow& row : e_.rows) {
        if (std::any_of(average.of.begin(), average.of.end(), [&](const std::string& column) {
              return !results_.contains({row.name, column});
            }))
          continue;
        results_[{row.name, average.name}].evaluation = mean(average, row);
      }
    }
  }

  Evaluation mean(const ExperimentAverage& average, const ExperimentRow& row) const {
    Evaluation all;
    all.all.assign(e_.measures.size(), 0);
    double weight = 0;
    for (const std::string& column : average.of) {
      const Evaluation& one = results_.at({row.name, column}).evaluation;
      const double share = average.over_tasks ? 1 : static_cast<double>(one.averaged_over);
      weight += share;
      all.averaged_over += one.averaged_over;
      for (std::size_t m = 0; m < e_.measures.size(); ++m)
        all.all[m] += (e_.measures[m].is_count() ? 1 : share) * one.all[m];
      if (average.over_tasks) continue;
      // Different tasks may have topics of the same id.
      for (const auto& [query, values] : one.queries) all.queries[column + "\t" + query] = values;
    }
    for (std::size_t m = 0; m < e_.measures.size(); ++m) {
      if (!e_.measures[m].is_count()) all.all[m] /= weight;
    }
    return all;
  }

  StudyReport report() const {
    StudyReport report = begin_report(e_);
    for (std::size_t m = 0; m < e_.measures.size(); ++m) add_measure(report, m);
    if (e_.times) add_times(report);
    correct_tests(report);
    if (run_.topics > 0)
      report.notes.push_back(fmt::format("only the first {} judged topics of each task", run_.topics));
    for (const ExperimentPart& part : parts_) {
      if (!part.present) report.notes.push_back(describe(part));
    }
    report.notes.insert(report.notes.end(), notes_.begin(), notes_.end());
    add_notes_of_texts(report);
    return report;
  }

  // A note per task and number of candidates without text; most rows have the same.
  void add_notes_of_texts(StudyReport& report) const {
    for (const ExperimentTask& task : e_.tasks) {
      std::map<std::size_t, std::vector<std::string>> rows;
      for (const ExperimentRow& row : e_.rows) {
        const auto found = results_.find({row.name, task.name});
        if (found != results_.end() && found->second.without_text > 0)
          rows[found->second.without_text].push_back("\"" + row.name + "\"");
      }
      for (const auto& [count, of] : rows) {
        report.notes.push_back(
            fmt::format("{} candidates without text of task \"{}\" are ranked below the others of their topic by {}",
                        count, task.name, join(of, ", ")));
      }
    }
  }

  /// fill(cell, result, row, column) sets the value.
  template <typename Fill>
  StudyTable& add_filled(StudyReport& report, const std::string& measure, const Fill& fill) const {
    StudyTable& table = add_table(report, e_, measure);
    for (std::size_t r = 0; r < report.rows.size(); ++r) {
      for (std::size_t c = 0; c < report.columns.size(); ++c) {
        const auto found = results_.find({report.rows[r], report.columns[c]});
        if (found == results_.end()) continue;
        StudyCell& cell = table.cells[r][c];
        cell.milliseconds = found->second.milliseconds;
        cell.truncated = found->second.truncated;
        fill(cell, found->second, r, c);
      }
    }
    return table;
  }

  void add_measure(StudyReport& report, std::size_t m) const {
    const Measure& measure = e_.measures[m];
    const auto fill = [&](StudyCell& cell, const TaskResult& result, std::size_t r, std::size_t c) {
      cell.value = result.evaluation.all[m];
      const auto reference = results_.find({report.references[c], report.columns[c]});
      if (reference == results_.end() || report.references[c] == report.rows[r] || measure.is_count()) return;
      const PairedValues pairs = paired_values(result.evaluation, reference->second.evaluation, m);
      if (!pairs.a.empty()) cell.tests = paired_tests(pairs.a, pairs.b, e_.bound);
    };
    add_filled(report, measure.name, fill).decimals = measure.is_count() ? 0 : 4;
  }

  void add_times(StudyReport& report) const {
    StudyTable& table = add_filled(report, kTimes, [](StudyCell& cell, const TaskResult& result, auto, auto) {
      cell.value = result.milliseconds;
    });
    table.decimals = 3;
    table.lower_is_better = true;
  }

  void stop_if_due() const { StopSignal{{}, run_.stop}.throw_if_due("the experiment"); }

  [[noreturn]] void fail_for_want_of_everything() const {
    if (failure_) throw Error(*failure_);
    const auto missing = std::find_if(parts_.begin(), parts_.end(), [](const auto& part) { return !part.present; });
    throw Error(ErrorKind::io, e_.title,
                "nothing of it is present" + (missing == parts_.end() ? "" : "; " + describe(*missing)),
                "name the folder of the data with --data; `relucent experiment check` lists what is missing");
  }

  const Experiment& e_;
  const ExperimentRun& run_;
  const std::vector<ExperimentPart> parts_;
  const std::map<std::pair<std::string, std::string>, std::string> run_files_;
  std::unordered_map<std::string, RowModel> models_;  // by row
  std::set<std::string> failed_;                      // rows that cannot be computed
  std::optional<Error> failure_;                      // the first one's
  std::vector<std::string> notes_;
  std::set<std::string> warnings_;
  Results results_;
  std::int64_t candidates_done_ = 0, bytes_done_ = 0;
};

}  // namespace

StudyReport run_experiment(const Experiment& experiment, const ExperimentRun& run) {
  return Runner(experiment, run).run();
}

}  // namespace relucent::index_tools
