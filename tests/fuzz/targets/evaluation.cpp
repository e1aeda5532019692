// Topics, judgments, runs, rerank files with their metadata, and dialogues in every form: an input is "KIND\n" and a
// file. The target writes what it has read, and reads it again.
#include <string>

#include "index_tools/evaluation/dialogues.h"
#include "index_tools/evaluation/qrels_writer.h"
#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/evaluation/run_formats.h"
#include "index_tools/evaluation/topic_writer.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/text_input.h"

namespace relucent::fuzz {
namespace {

using namespace index_tools;

std::filesystem::path written(const std::string& text) { return scratch_file("again", text); }

void topics(const std::filesystem::path& file) {
  const TopicFile read = read_topic_file(file);
  const TopicFile again = read_topic_file(written(format_topics(read.topics, TopicFormat::jsonl)));
  if (again.topics.size() != read.topics.size()) report("another number of topics");
  for (std::size_t i = 0; i < read.topics.size(); ++i) {
    if (again.topics[i].id != read.topics[i].id || again.topics[i].title != read.topics[i].title) {
      report("another topic");
    }
    for (const TopicText text : {TopicText::title, TopicText::description, TopicText::narrative}) {
      answer_or_error([&] { topic_text(read.topics[i], text); });
    }
  }
}

void judgments(const std::filesystem::path& file) {
  const Qrels read = read_qrels(file);
  if (count_judgments(read) == 0) report("no judgments");
  if (read_qrels(written(format_judgments(read_judgment_file(file).judgments, QrelsFormat::jsonl))) != read) {
    report("other judgments");
  }
}

void run(const std::filesystem::path& file) {
  const index_tools::Run read = read_run(file);
  check_run(read);
  const std::string text = format_run_as(RunFormat::jsonl, ranked_queries(read, RunOrder::score, 0), "tag");
  if (read_run(written(text)).query_order != read.query_order) report("another order of the queries");
}

void rerank(const std::filesystem::path& file) {
  const RerankInput read = read_rerank_input(file, true);
  std::string text;
  for (const RerankQuery& query : read.queries) {
    for (const RerankCandidate& candidate : query.candidates)
      text += format_rerank_line(query.id, query.text, candidate);
    if (scorer_candidates(query).size() != query.candidates.size()) report("another number of candidates");
  }
  if (read_rerank_input(written(text), false).candidates != read.candidates) report("other candidates");
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_TARGET(evaluation) {
  const auto [kind, bytes] = at_first_line(input);
  const auto file = scratch_file("evaluation", bytes);
  answer_or_error([&, form = kind, text = bytes] {
    if (form == "topics") topics(file);
    if (form == "qrels") judgments(file);
    if (form == "run") run(file);
    if (form == "rerank") rerank(file);
    if (form == "metadata") dataset_id_in(scratch_file("metadata.json", text).parent_path());
    if (form == "ubuntu") read_dialogues(file, DialogueFormat::ubuntu_v2, [](const Dialogue&) {});
    if (form == "dstc7") read_dialogues(file, DialogueFormat::dstc7, [](const Dialogue&) {});
  });
  if (kind == "rerank") answer_or_error([&] { read_rerank_input(file, true, BadLines::leave_out); });
}
