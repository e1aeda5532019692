#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/evaluation/text_lines.h"
#include "index_tools/evaluation/topics.h"
#include "index_tools/indexing/ordered_jobs.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/first_stage_flags.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/ir_metadata.h"
#include "index_tools/program/line_editor.h"
#include "index_tools/program/profile.h"
#include "index_tools/program/search_output.h"
#include "index_tools/program/terminal.h"
#include "index_tools/program/topic_text.h"
#include "relucent/error.h"
#include "relucent/search_session.h"
#include "relucent/threads.h"

namespace relucent::program {
namespace {

constexpr std::int32_t kHitsForPeople = 10;
constexpr int kRescoringJobs = 4, kMaxJobs = 256;
constexpr std::int32_t kMaxHits = 100'000;

struct SearchOptions {
  std::string index, language, topics, run, rerank_file, metadata, tag = "relucent", syntax = "words",
                                                                   topic_text = "title";
  std::vector<std::string> query;
  std::optional<int> hits;
  int offset = 0;
  int jobs = 0;  // 0: chosen by jobs_for()
  FirstStageFlags first_stage;
  ProfileFlags profile;
  bool no_rescore = false, timings = false, json = false, explain = false;
  std::string filter;
  std::vector<std::string> facets, fields;
};

SearchRequest request_of(const SearchOptions& options, const std::string& query, std::int32_t hits, HitTexts texts) {
  SearchRequest request;
  request.query = query;
  request.hits = hits;
  request.offset = options.offset;
  request.texts = texts;
  request.explain = options.explain;
  request.filter = options.filter;
  request.facets = options.facets;
  request.all_fields = options.fields == std::vector<std::string>{"all"};
  if (!request.all_fields) request.fields = options.fields;
  return request;
}

// As many as a terminal shows with the lines around them, so that the heading does not scroll off.
std::int32_t hits_for_people() {
  constexpr std::size_t around = 6, lines_per_hit = 2;
  constexpr std::size_t fewest = 3, most = kHitsForPeople;
  const std::size_t rows = terminal_rows(around + most * lines_per_hit);
  return static_cast<std::int32_t>(std::clamp(rows > around ? (rows - around) / lines_per_hit : 0, fewest, most));
}

// The order is BM25's, although nothing failed.
void note_not_rescored(const SearchResult& result, const std::string& query) {
  const bool unreadable = result.status == RescoreStatus::no_query_text || result.status == RescoreStatus::no_hit_text;
  if (result.degraded || !unreadable) return;
  std::cout.flush();
  std::cerr << "relucent: note: " << query << ": not rescored: " << result.reason << "\n";
}

void note_degraded(const SearchResult& result, const std::string& query) {
  std::cout.flush();
  std::cerr << "relucent: degraded: " << query << ": " << result.reason << "\n";
}

// How to have the whole of long texts read.
void note_cut_texts(const Config& config) {
  const std::vector<StageConfig> stages = config.rescorer.effective_stages();
  const bool truncates = std::any_of(stages.begin(), stages.end(), [](const StageConfig& stage) {
    return stage.long_documents == LongDocuments::truncate || stage.long_documents == LongDocuments::firstp;
  });
  std::cout.flush();
  std::cerr << "relucent: note: the model read only "
            << (truncates ? "the beginning of long texts; with long_documents = \"maxp\" in a profile's [rescorer], a "
                            "cross-encoder reads more\n"
                          : "a part of long texts; max_chunks in a profile's [rescorer] sets how much a cross-encoder "
                            "reads\n");
}

/// Answers a query for people or as JSON. The note about cut texts is given once: `cut_noted`.
int answer(SearchSession& session, const std::string& query, const SearchOptions& options, const Config& config,
           bool& cut_noted) {
  const SearchResult result = session.search(request_of(options, query, options.hits.value_or(hits_for_people()),
                                                        options.json ? HitTexts::whole : HitTexts::beginnings));
  if (options.json) {
    print_json(std::cout, result, "");
  } else {
    const bool person = is_terminal(STDOUT_FILENO);
    print_table(std::cout, result, {wants_styles(), terminal_columns(100), person});
  }
  std::cout.flush();
  if (result.hits.empty() && options.offset > 0 && result.total_hits > 0) {
    std::cerr << fmt::format("relucent: note: there are no hits from rank {} on; {} documents match\n",
                             options.offset + 1, result.total_hits);
  }
  if (options.timings) std::cerr << timings_line(result) << "\n";
  if (result.truncated > 0 && !options.json && !std::exchange(cut_noted, true)) note_cut_texts(config);
  note_not_rescored(result, "the hits keep the first stage's order");
  if (!result.degraded) return ok;
  note_degraded(result, result.rescored > 0 ? "not answered as configured" : "answered in the first stage's order");
  return degraded;
}

/// Queries that could not be answered. They are reported, and the others are still answered.
class Unanswered {
 public:
  /// Reports the failure of `query`, for example a topic's name, up to kReported times. Rethrows interruptions.
  void add(const std::string& query, const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw error;
    if (!first_kind_) first_kind_ = error.kind();
    if (++count_ > kReported) return;
    std::cout.flush();
    std::cerr << "relucent: error: " << query << (query.empty() ? "" : ": ") << error.what() << "\n";
  }

  std::size_t count() const { return count_; }

  /// Throws if none of the `asked` queries of `place` was answered, because then the whole command has failed.
  void throw_if_all(std::size_t asked, const std::string& place) const {
    if (count_ == 0 || count_ < asked) return;
    throw Error(*first_kind_, place, "no query could be answered", "see the error above");
  }

  /// Reports their number.
  void summarize(std::size_t asked) const {
    if (count_ == 0) return;
    std::cerr << "relucent: degraded: " << count_ << " of " << asked << " queries could not be answered\n";
  }

 private:
  static constexpr std::size_t kReported = 20;
  std::size_t count_ = 0;
  std::optional<ErrorKind> first_kind_;
};

// Queries from standard input, one per line, with a prompt on a terminal.
int answer_lines(SearchSession& session, const SearchOptions& options, const Config& config) {
  const bool person = is_terminal(STDIN_FILENO);
  std::optional<LineEditor> editor;
  if (person) {
    std::cerr << "Enter one question per line; an empty line or Ctrl-D quits.\n";
    editor.emplace("> ");
  }
  int code = ok;
  bool cut_noted = false;
  std::size_t asked = 0;
  Unanswered unanswered;
  std::string line;
  for (;;) {
    if (!(editor ? editor->next(line) : static_cast<bool>(std::getline(std::cin, line)))) break;
    if (trim(line).empty()) {
      if (person) return code;
      continue;
    }
    ++asked;
    try {
      code = std::max(code, answer(session, std::string(trim(line)), options, config, cut_noted));
      if (!options.json) std::cout << std::endl;
    } catch (const Error& error) {
      unanswered.add(person ? "" : fmt::format("query {}", asked), error);
    }
    if (!std::cout.good()) break;
  }
  if (person) {
    std::cerr << "\n";
    return code;
  }
  unanswered.throw_if_all(asked, "standard input");
  unanswered.summarize(asked);
  return unanswered.count() > 0 ? int{degraded} : code;
}

double share_below(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

void print_statistics(const std::vector<SearchResult>& results, int jobs) {
  std::size_t no_words = 0, no_hits = 0;
  for (const SearchResult& result : results) {
    no_words += result.no_words ? 1 : 0;
    no_hits += result.hits.empty() ? 1 : 0;
  }
  const auto line = [&results](const char* name, const auto& time_of) {
    std::vector<double> times;
    for (const SearchResult& result : results) times.push_back(in_milliseconds(time_of(result)));
    std::sort(times.begin(), times.end());
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    std::fprintf(stderr, "  %-12s mean %9.2f  median %9.2f  95 %% %9.2f  longest %9.2f ms\n", name, mean,
                 share_below(times, 0.5), share_below(times, 0.95), times.back());
  };
  std::fprintf(stderr, "%zu queries", results.size());
  if (jobs > 1) std::fprintf(stderr, ", %d at once", jobs);
  if (no_hits > 0) std::fprintf(stderr, ", %zu without a hit (%zu of them stop words only)", no_hits, no_words);
  std::fprintf(stderr, "; time per query:\n");
  const auto part = [&line](const char* name, std::chrono::nanoseconds StageTimes::*stage) {
    line(name, [stage](const SearchResult& result) { return result.times.*stage; });
  };
  line("all", [](const SearchResult& result) { return result.total; });
  part("parse", &StageTimes::parse);
  part("first stage", &StageTimes::first_stage);
  if (!results.front().rescoring) return;
  part("fetch text", &StageTimes::fetch);
  part("tokenize", &StageTimes::tokenize);
  part("encode", &StageTimes::encode);
  if (results.front().times.device.count() > 0) part("on device", &StageTimes::device);
  part("combine", &StageTimes::combine);
  if (results.front().times.passages.count() > 0) part("passages", &StageTimes::passages);
}

/// Writes the answers to topics as a run, as JSON or as a rerank file, to files or standard output.
class TopicAnswers {
 public:
  // Opened before the long work, to fail early if a file is not writable.
  explicit TopicAnswers(const SearchOptions& options) : options_(options) {
    if (!options.run.empty() && options.run != "-") run_ = std::make_unique<index_tools::OutputFile>(options.run);
    if (!options.rerank_file.empty()) rerank_ = std::make_unique<index_tools::OutputFile>(options.rerank_file);
    run_to_output_ = !options.json && (options.run == "-" || (options.run.empty() && !rerank_));
  }

  SearchSession::Texts texts() const { return options_.json || rerank_ ? HitTexts::whole : HitTexts::none; }

  void add(const index_tools::Topic& topic, const SearchResult& result) {
    if (options_.json) print_json(std::cout, result, topic.id);
    if (run_ || run_to_output_) {
      index_tools::RankedQuery ranked{topic.id, {}};
      for (const SearchHit& hit : result.hits) ranked.hits.push_back({hit.id, hit.score});
      const std::string lines = index_tools::format_run({ranked}, options_.tag);
      if (run_) {
        run_->write(lines);
      } else {
        std::cout << lines;
      }
    }
    if (!rerank_) return;
    for (const SearchHit& hit : result.hits) {
      rerank_->write(
          index_tools::format_rerank_line(topic.id, result.query, {hit.id, hit.text, hit.score, hit.rank, ""}));
    }
  }

  /// A topic without an answer: runs and rerank files omit it, JSON states why.
  void add_failure(const index_tools::Topic& topic, index_tools::TopicText text, const Error& error) {
    if (!options_.json) return;
    std::string query;
    try {
      query = index_tools::topic_text(topic, text);
    } catch (const Error&) {
      // the reason is that the topic has no such text
    }
    print_json_error(std::cout, query, topic.id, error.what());
  }

  void commit() {
    if (run_) run_->commit();
    if (rerank_) rerank_->commit();
    std::cout.flush();
  }

 private:
  const SearchOptions& options_;
  std::unique_ptr<index_tools::OutputFile> run_, rerank_;
  bool run_to_output_ = false;
};

// Topics answered concurrently. All searches share one set of rescoring threads: a few of them keep it busy while
// others read from the index. Concurrent searches take longer each, which must not count against a deadline.
int jobs_for(const SearchOptions& options, const Config& config) {
  if (options.jobs > 0) return options.jobs;
  if (!config.rescorer.enabled) return available_cores();
  return config.rescorer.timeout.count() > 0 ? 1 : std::min(available_cores(), kRescoringJobs);
}

Metadata metadata_of(const SearchSession& session, const SearchOptions& options, const Config& config,
                     AnalyzerKind analyzer) {
  Metadata retrieval = first_stage_metadata(config.first_stage);
  if (config.rescorer.enabled) {
    const std::string first_stage = retrieval.back().at("name");
    retrieval.push_back(rescorer_metadata(config.rescorer, session.scorer(), first_stage));
  }
  return {{"tag", options.tag},
          {"data",
           {{"test collection", {{"topics", options.topics}, {"topic text", options.topic_text}}},
            {"index", options.index.empty() ? config.index.path : options.index}}},
          {"method",
           {{"automatic", true},
            {"indexing", {{"analyzer", std::string(to_string(analyzer))}}},
            {"retrieval", retrieval}}}};
}

int answer_topics(SearchSession& session, const SearchOptions& options, const Config& config, MetadataFile& metadata) {
  const index_tools::TopicText text = parse_topic_text(options.topic_text);
  const std::vector<index_tools::Topic> topics = index_tools::read_topics(options.topics);
  TopicAnswers answers(options);
  const InterruptStop interrupt;
  const std::int32_t hits = options.hits.value_or(config.first_stage.hits);
  std::vector<SearchResult> results;
  std::size_t degraded_queries = 0, first_stage_queries = 0, truncated_queries = 0, done = 0,
              queries_with_cut_texts = 0;
  std::int64_t cut_texts = 0;
  Unanswered unanswered;
  int jobs = 1;
  {
    index_tools::Progress progress("searching", index_tools::Progress::Unit::documents,
                                   static_cast<std::int64_t>(topics.size()));
    index_tools::OrderedJobs<SearchResult> searches(topics.size(), jobs_for(options, config), [&](std::size_t i) {
      return session.search(request_of(options, index_tools::topic_text(topics[i], text), hits, answers.texts()));
    });
    jobs = searches.jobs();
    const auto look = [&] {
      interrupt.throw_if_interrupted("searching");
      progress.update(0, static_cast<std::int64_t>(done));
    };
    for (const index_tools::Topic& topic : topics) {
      SearchResult result;
      try {
        result = searches.next(look);
        ++done;
      } catch (const Error& error) {
        ++done;
        unanswered.add("topic " + topic.id, error);
        answers.add_failure(topic, text, error);
        continue;
      }
      answers.add(topic, result);
      note_not_rescored(result, "topic " + topic.id);
      if (result.degraded && degraded_queries++ == 0) note_degraded(result, "topic " + topic.id);
      if (result.degraded && result.rescored == 0) ++first_stage_queries;
      if (result.truncated > 0) ++queries_with_cut_texts;
      cut_texts += result.truncated;
      if (result.query_truncated) ++truncated_queries;
      result.hits.resize(std::min<std::size_t>(result.hits.size(), 1));  // only needed for counting from here on
      results.push_back(std::move(result));
    }
  }
  unanswered.throw_if_all(topics.size(), options.topics);
  answers.commit();
  if (!results.empty()) print_statistics(results, jobs);
  if (metadata.wanted() && !results.empty()) {
    metadata.write(metadata_of(session, options, config, results.front().analyzer));
  }
  if (cut_texts > 0) {
    std::cerr << "relucent: note: " << cut_texts << " texts of " << queries_with_cut_texts
              << (queries_with_cut_texts == 1 ? " query" : " queries") << " were cut\n";
    note_cut_texts(config);
  }
  if (truncated_queries > 0) {
    std::cerr << "relucent: note: " << truncated_queries << " of " << topics.size()
              << " queries were too long for the model, which did not read their ends\n";
  }
  unanswered.summarize(topics.size());
  if (degraded_queries == 0) return unanswered.count() > 0 ? degraded : ok;
  std::cerr << "relucent: degraded: " << degraded_queries << " of " << topics.size()
            << " queries were not answered as configured, " << first_stage_queries
            << " are in the first stage's order\n";
  return degraded;
}

int run(const SearchOptions& options) {
  refuse_if(!options.query.empty() && !options.topics.empty(), "search", "a query and --topics cannot be combined",
            "choose one");
  refuse_if(!options.run.empty() && options.topics.empty(), "--run",
            "needs --topics, which provides the query ids of a run", "pass a topics file, or use --json");
  refuse_if(!options.rerank_file.empty() && options.topics.empty(), "--rerank-file",
            "needs --topics, which provides its query ids", "pass a topics file");
  refuse_if(options.rerank_file == "-" && (options.json || options.run == "-"), "--rerank-file -",
            "cannot share standard output with a run or JSON", "write one of them to a file");
  refuse_if(!options.metadata.empty() && options.topics.empty(), "--metadata",
            "needs --topics, because it describes a run", "pass a topics file");
  refuse_if(options.explain && !options.topics.empty(), "--explain", "explains the hits of a single query",
            "pass a query instead of --topics");
  refuse_if((!options.fields.empty() || !options.facets.empty()) && !options.topics.empty() && !options.json,
            options.fields.empty() ? "--facets" : "--fields", "is not part of a run or a rerank file", "add --json");
  refuse_if(options.offset > 0 && !options.topics.empty(), "--offset",
            "pages through the hits of a query; a run has all hits of its topics",
            "pass a query instead of --topics, or omit --offset");
  if (const int hits = options.hits.value_or(kHitsForPeople); options.offset > kMaxHits - hits) {
    throw Error(ErrorKind::usage, "--offset",
                fmt::format("{} and {} hits are more than {}", options.offset, hits, kMaxHits),
                "ask for an earlier page");
  }
  refuse_if(options.jobs > 0 && options.topics.empty(), "--jobs",
            "needs --topics, because it answers several topics at once", "pass a topics file, or omit --jobs");
  const std::string query = join(options.query, " ");
  refuse_if(!options.query.empty() && trim(query).empty(), "QUERY", "is empty", "say what to search for");
  Config config = load_profile(options.profile);
  options.first_stage.apply(config.first_stage);
  if (!options.language.empty()) config.index.language = parse_language(options.language, "--language");
  check_config(config);
  refuse_if(options.index.empty() && config.index.path.empty(), "--index", "is missing",
            "pass --index DIR, or set [index] path in the profile");
  // A rerank file holds the first stage's hits for other rerankers.
  if (options.no_rescore || !options.rerank_file.empty()) config.rescorer.enabled = false;
  // Runs and rerank files do not show passages.
  if (!options.topics.empty() && !options.json) config.rescorer.find_passages = false;
  const QuerySyntax syntax = options.syntax == "lucene" ? QuerySyntax::lucene : QuerySyntax::words;

  // Only topics write files, which must be cleaned up on an interrupt.
  if (options.topics.empty()) exit_when_interrupted();
  MetadataFile metadata(options.metadata);
  SearchSession session(options.index, config, syntax);
  for (const std::string& notice : session.notices()) std::cerr << "relucent: note: " << notice << "\n";
  if (options.timings && config.rescorer.enabled) std::cerr << session.scorer() << "\n";
  if (!options.topics.empty()) return answer_topics(session, options, config, metadata);
  bool cut_noted = false;
  if (!query.empty()) return answer(session, query, options, config, cut_noted);
  return answer_lines(session, options, config);
}

}  // namespace

void add_search(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("search", "Search an index and rescore the hits");
  auto options = std::make_shared<SearchOptions>();
  command->add_option("QUERY", options->query,
                      "The question (default: read questions from standard input, one per line)");
  add_value(*command, "--index DIR", options->index, "Index directory (default: the profile's [index] path)");
  add_value(*command, "--language NAME", options->language,
            "Language of the documents and the query (default: the one that the index records)");
  add_value(*command, "--topics FILE", options->topics,
            "Answer all topics of a file (TREC, TREC XML, SMART, NPL, JSON lines, TSV); \"-\": standard input");
  add_value(*command, "--run,--output FILE", options->run,
            "Write a TREC run of the topics; \"-\" (default): standard output");
  add_value(*command, "--rerank-file FILE", options->rerank_file,
            "Write BM25's hits of the topics with their texts as TIREx's rerank.jsonl[.gz], for this and other "
            "rerankers; \"-\": standard output; implies --no-rescore");
  add_topic_text_flag(*command, options->topic_text);
  add_value(*command, "--hits N", options->hits,
            "Number of hits (default: 10, or as many as fit the terminal; with --topics the profile's "
            "[first_stage] hits, 100)")
      ->check(CLI::Range(1, kMaxHits));
  add_value(*command, "--offset N", options->offset,
            "Leave out the best N hits: the page that continues a search for N hits (default: 0)")
      ->check(CLI::Range(0, kMaxHits - 1));
  add_value(*command, "--jobs N", options->jobs,
            "Topics answered at once (default: one per core; with rescoring at most 4, and 1 if a deadline is "
            "set)")
      ->check(CLI::Range(1, kMaxJobs));
  add_first_stage_flags(*command, options->first_stage);
  command->add_flag("--no-rescore,--bm25", options->no_rescore, "Search with the first stage only");
  add_choice(*command, "--syntax", options->syntax, {"words", "lucene"},
             "words: plain words; lucene: \"a phrase\", +must, -not, field:word");
  add_value(*command, "--filter JSON", options->filter,
            "Find only documents whose declared fields meet this JSON object, for example "
            "'{\"lang\": \"de\", \"year\": {\"gte\": 2020, \"lt\": 2024}}'; see docs/fields-and-filters.md");
  add_list(*command, "--facets KEY,...", options->facets,
           "Also count the values of these keyword fields in all documents that match, separated by commas");
  add_list(*command, "--fields KEY,...", options->fields,
           "Also show these keys of the hits' metadata, separated by commas; all: all of them");
  add_profile_flags(*command, options->profile);
  add_default(*command, "--tag,--runtag", options->tag, "Run tag, the last column");
  add_metadata_flag(*command, options->metadata);
  command->add_flag("--timings", options->timings, "Print the time of each step on standard error");
  command->add_flag("--explain", options->explain, "Also show how the score of each hit came about");
  command->add_flag("--json", options->json,
                    "Print one JSON object per query, one per line; each hit with its text and its best passage");
  command->footer(
      "Example:\n"
      "  relucent search --index my.index \"why is the sky blue\"\n"
      "  relucent search --index my.index --filter '{\"lang\": \"de\"}' --fields lang,year \"why is the sky blue\"\n"
      "  relucent search --index marco.index --topics topics.tsv --run model.run\n"
      "  relucent search --index marco.index --topics topics.tsv --run bm25.run --no-rescore --hits 1000\n"
      "  relucent search --index marco.index --topics topics.tsv --rerank-file rerank.jsonl.gz");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
