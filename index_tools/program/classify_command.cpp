#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "index_tools/evaluation/json_fields.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/evaluation/text_lines.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/profile.h"
#include "relucent/model/classifier.h"

namespace relucent::program {
namespace {

using index_tools::bad_line;

constexpr std::size_t kPairsAtOnce = 1024;

struct ClassifyOptions {
  std::string input, output;
  ProfileFlags profile;
  bool json = false, quiet = false;
};

/// Pairs of texts, each perhaps with the number of its label.
struct Pairs {
  std::vector<std::string> texts, others;
  std::vector<std::optional<std::size_t>> labels;
};

std::string text_field(const index_tools::JsonRecord& record, const char* key, const std::string& file,
                       std::int64_t number) {
  const index_tools::JsonRecord* value = index_tools::find_field(record, {key});
  if (value == nullptr || !value->is_string()) {
    bad_line(file, number, fmt::format("has no text \"{}\"", key), "each line needs query and document");
  }
  return value->get<std::string>();
}

Pairs read_pairs(const std::string& file, const std::vector<std::string>& names) {
  Pairs pairs;
  const auto add_label = [&](const std::string& label, std::int64_t number) {
    auto found = static_cast<std::size_t>(std::ranges::find(names, label) - names.begin());
    std::int64_t given = 0;
    if (found == names.size() && index_tools::parse_whole_number(label, given) && given >= 0)
      found = std::min(names.size(), static_cast<std::size_t>(given));
    if (found == names.size()) {
      bad_line(file, number, fmt::format("{} is not a label of the model", index_tools::excerpt(label)),
               "known are " + join(names));
    }
    pairs.labels.emplace_back(found);
  };
  index_tools::for_each_line(file, [&](const std::string& line, std::int64_t number) {
    if (line.empty()) return;
    if (line.front() == '{') {
      const index_tools::JsonRecord record = index_tools::parse_record(line, file, number);
      pairs.texts.push_back(text_field(record, "query", file, number));
      pairs.others.push_back(text_field(record, "document", file, number));
      const index_tools::JsonRecord* label = index_tools::find_field(record, {"label"});
      if (label == nullptr) {
        pairs.labels.emplace_back();
      } else if (label->is_string() || label->is_number_integer()) {
        add_label(label->is_string() ? label->get<std::string>() : label->dump(), number);
      } else {
        bad_line(file, number, "its label is neither a name nor a number", "write one of " + join(names));
      }
      return;
    }
    std::vector<std::string> fields;
    for (std::size_t begin = 0; begin != std::string::npos;) {
      const std::size_t end = line.find('\t', begin);
      fields.push_back(line.substr(begin, end == std::string::npos ? end : end - begin));
      begin = end == std::string::npos ? end : end + 1;
    }
    if (fields.size() != 2 && fields.size() != 3) {
      bad_line(file, number, fmt::format("has {} fields", fields.size()),
               "write two texts and perhaps a label, separated by tabs");
    }
    pairs.texts.push_back(fields[0]);
    pairs.others.push_back(fields[1]);
    if (fields.size() == 3) {
      add_label(fields[2], number);
    } else {
      pairs.labels.emplace_back();
    }
  });
  return pairs;
}

/// [pairs][labels]
std::vector<float> logits_of(const Classifier& classifier, const Pairs& pairs, bool quiet) {
  const InterruptStop interrupt;
  std::vector<float> logits(pairs.texts.size() * classifier.labels().size());
  const std::vector<std::string_view> texts(pairs.texts.begin(), pairs.texts.end());
  const std::vector<std::string_view> others(pairs.others.begin(), pairs.others.end());
  index_tools::Progress progress("classifying", index_tools::Progress::Unit::documents,
                                 static_cast<std::int64_t>(texts.size()), quiet);
  std::int64_t done = 0;
  for (const EqualTexts& group : by_first_text(texts, kPairsAtOnce)) {
    interrupt.throw_if_interrupted("classifying");
    classify_group(classifier, group, others, logits, StopSignal{{}, interrupt.token()});
    done += static_cast<std::int64_t>(group.places.size());
    progress.update(done, done);
  }
  return logits;
}

int run(const ClassifyOptions& options) {
  const Config config = load_profile(options.profile);
  const ScorerConfig& model = config.rescorer;
  const auto classifier = Classifier::load(model_folder(model.model),
                                           {model, BackendOptions{model.device, model.precision, model.threads, {}}});
  const std::vector<std::string>& names = classifier->labels();
  const Pairs pairs = read_pairs(options.input, names);
  index_tools::OutputFile output(options.output);
  const std::vector<float> logits = logits_of(*classifier, pairs, options.quiet);
  std::size_t judged = 0, right = 0;
  for (std::size_t i = 0; i < pairs.texts.size(); ++i) {
    const auto of = std::span(logits).subspan(i * names.size(), names.size());
    const auto best = static_cast<std::size_t>(std::ranges::max_element(of) - of.begin());
    std::string line = names[best];
    for (const float logit : of) line += fmt::format("\t{}", logit);
    output.write(line + "\n");
    if (!pairs.labels[i]) continue;
    ++judged;
    if (*pairs.labels[i] == best) ++right;
  }
  output.commit();
  const double accuracy = judged == 0 ? 0 : static_cast<double>(right) / static_cast<double>(judged);
  std::ostream& out = options.output == "-" ? std::cerr : std::cout;
  if (options.json) {
    nlohmann::ordered_json json = {{"pairs", pairs.texts.size()}, {"labels", names}};
    json["accuracy"] = judged == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(accuracy);
    out << json.dump(2) << "\n";
  } else if (judged > 0) {
    out << fmt::format("accuracy  {:.4f}  ({} of {})\n", accuracy, right, judged);
  }
  return ok;
}

}  // namespace

void add_classify(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("classify", "Label pairs of texts");
  auto options = std::make_shared<ClassifyOptions>();
  add_value(*command, "--input FILE", options->input,
            "Pairs: lines of text, text and perhaps a label, separated by tabs; or JSON objects with query, "
            "document and perhaps label; \"-\" for standard input")
      ->required();
  add_value(*command, "--output FILE", options->output,
            "The label of each pair and the logits of all labels, separated by tabs; \"-\" for standard output")
      ->required();
  add_profile_flags(*command, options->profile);
  command->add_flag("--json", options->json, "Print the accuracy as JSON");
  command->add_flag("--quiet", options->quiet, "Do not show progress");
  command->footer(
      "The model is a cross-encoder with three or more labels in id2label, or a MixEncoder made with --labels. If the\n"
      "input has labels, by name or number, the accuracy is printed.\n\n"
      "Example:\n"
      "  relucent classify --input mnli-dev.tsv --model nli-model --output labels.tsv");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
