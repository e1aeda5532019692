#include "index_tools/evaluation/dialogues.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"
#include "index_tools/corpora/csv_reader.h"
#include "index_tools/corpora/input_parts.h"
#include "index_tools/corpora/json_elements.h"
#include "index_tools/corpora/line_reader.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using DialogueJson = nlohmann::json;

[[noreturn]] void bad_dialogue(const std::string& place, const std::string& problem, const std::string& remedy) {
  throw Error(ErrorKind::invalid_data, place, problem, remedy);
}

// Every line of the CSV has a context, the answer, and distractors; the first one names them.
void read_ubuntu(InputParts& parts, ReadReport& report, const std::function<void(const Dialogue&)>& use) {
  LineReader lines(parts, parts.part_name(), report);
  CsvReader records(lines);
  std::vector<std::string> fields;
  const auto place = [&] { return fmt::format("{}:{}", parts.part_name(), records.line()); };
  if (!records.next(fields) || fields.size() < 3 || lower_ascii(fields[0]) != "context") {
    bad_dialogue(place(), "does not begin with the columns Context, Ground Truth Utterance, Distractor_0 ...",
                 "use test.csv or valid.csv of the Ubuntu Dialogue Corpus v2");
  }
  const std::size_t columns = fields.size();
  for (std::int64_t number = 1; records.next(fields); ++number) {
    if (fields.size() != columns) {
      bad_dialogue(place(), fmt::format("has {} fields, and the first line {}", fields.size(), columns),
                   "download the file again");
    }
    Dialogue dialogue{fmt::format("{}", number), collapse_blanks(fields[0]), {}};
    if (dialogue.context.empty()) bad_dialogue(place(), "has no context", "remove the line");
    for (std::size_t i = 1; i < columns; ++i) {
      dialogue.candidates.push_back({fmt::format("{}-{}", number, i - 1), collapse_blanks(fields[i]), i == 1});
    }
    use(dialogue);
  }
}

std::string text_of(const DialogueJson& object, const char* key, const std::string& place) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !(found->is_string() || found->is_number_integer())) {
    bad_dialogue(place, fmt::format("has no text \"{}\"", key), "use the JSON of DSTC 7, track 1, subtask 1");
  }
  return found->is_string() ? found->get<std::string>() : found->dump();
}

const DialogueJson& array_of(const DialogueJson& object, const char* key, const std::string& place) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_array()) {
    bad_dialogue(place, fmt::format("has no list \"{}\"", key), "use the JSON of DSTC 7, track 1, subtask 1");
  }
  return *found;
}

void read_dstc7(InputParts& parts, ReadReport& report, const std::function<void(const Dialogue&)>& use) {
  JsonElements elements(parts, parts.part_name(), report, "");
  for (std::string text; elements.next(text);) {
    const std::string place = fmt::format("{}, dialogue {}", parts.part_name(), elements.number());
    const DialogueJson example = DialogueJson::parse(text, nullptr, false);
    if (!example.is_object()) bad_dialogue(place, "is not an object", "use the JSON of DSTC 7, track 1, subtask 1");
    Dialogue dialogue{text_of(example, "example-id", place), "", {}};
    for (const DialogueJson& message : array_of(example, "messages-so-far", place)) {
      dialogue.context += (dialogue.context.empty() ? "" : " ") + collapse_blanks(text_of(message, "utterance", place));
    }
    if (dialogue.context.empty()) bad_dialogue(place, "has no context", "remove it");
    std::unordered_map<std::string, std::size_t> known;  // where the candidate of an id is
    for (const DialogueJson& option : array_of(example, "options-for-next", place)) {
      std::string id = text_of(option, "candidate-id", place);
      if (!known.try_emplace(id, dialogue.candidates.size()).second) continue;
      dialogue.candidates.push_back({std::move(id), collapse_blanks(text_of(option, "utterance", place)), false});
    }
    for (const DialogueJson& answer : array_of(example, "options-for-correct-answers", place)) {
      const std::string id = text_of(answer, "candidate-id", place);
      const auto found = known.find(id);
      if (found == known.end()) {
        bad_dialogue(place, fmt::format("the answer {} is not among its options", id), "remove the dialogue");
      }
      dialogue.candidates[found->second].correct = true;
    }
    if (dialogue.candidates.empty()) bad_dialogue(place, "has no options", "remove it");
    use(dialogue);
  }
}

}  // namespace

void read_dialogues(const std::filesystem::path& file, DialogueFormat format,
                    const std::function<void(const Dialogue&)>& use) {
  std::error_code problem;
  if (!std::filesystem::exists(file, problem)) {
    throw Error(ErrorKind::io, file.string(), "no such file", "check the path");
  }
  InputParts parts({InputFile{file}}, {"*"});
  ReadReport report;
  while (parts.next_part()) {
    switch (format) {
      case DialogueFormat::ubuntu_v2: read_ubuntu(parts, report, use); break;
      case DialogueFormat::dstc7: read_dstc7(parts, report, use); break;
    }
  }
}

}  // namespace relucent::index_tools
