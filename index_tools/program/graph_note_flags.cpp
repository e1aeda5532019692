#include "index_tools/program/graph_note_flags.h"

#include <fmt/core.h>

#include "index_tools/evaluation/topics.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/topic_text.h"
#include "relucent/error.h"

namespace relucent::program {

using index_tools::GraphNotesJob;

void GraphNoteFlags::add_to(CLI::App& command, const std::string& when) {
  add_choice(command, "--weights", weights, {GraphOrigins::kTfidf, GraphOrigins::kQueryLog, GraphOrigins::kFile},
             when +
                 "What makes words important: tfidf; prf, how many of the queries of --topics that find the document "
                 "have the word; file, the numbers of --weights-file");
  add_value(command, "--topics FILE", topics, when + "Queries of a log, for --weights prf");
  add_topic_text_flag(command, topic_text);
  add_default(command, "--log-hits N", job.log_hits, when + "A query of the log finds its best N documents by BM25")
      ->check(CLI::Range(1, 1000));
  add_value(command, "--weights-file FILE", job.weights_file,
            when + R"(JSON lines {"id", "weights": {term: number}}; tf * idf for other documents)");
  add_value(command, "--entities FILE", job.entities_file,
            when + R"(JSON lines {"id", "entities": [{"start", "end", "id", "score"?}]}, places in code points)");
}

bool GraphNoteFlags::given() const {
  return weights != GraphOrigins::kTfidf || !topics.empty() || !job.weights_file.empty() || !job.entities_file.empty();
}

GraphNotesJob GraphNoteFlags::read() const {
  const auto require = [&](const char* flag, bool is_given, const char* of) {
    const bool wanted = weights == of;
    if (is_given == wanted) return;
    throw Error(ErrorKind::usage, flag, wanted ? "is missing" : "has no effect with these weights",
                fmt::format("give it with --weights {}, and only then", of));
  };
  require("--topics", !topics.empty(), GraphOrigins::kQueryLog);
  require("--weights-file", !job.weights_file.empty(), GraphOrigins::kFile);
  GraphNotesJob read = job;
  if (weights == GraphOrigins::kFile) read.weights = GraphNotesJob::Weights::file;
  if (weights != GraphOrigins::kQueryLog) return read;
  read.weights = GraphNotesJob::Weights::query_log;
  const index_tools::TopicText text = parse_topic_text(topic_text);
  for (const index_tools::Topic& topic : index_tools::read_topics(topics)) {
    read.log_queries.push_back(index_tools::topic_text(topic, text));
  }
  return read;
}

}  // namespace relucent::program
