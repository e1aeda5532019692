#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"

namespace relucent::program {
namespace {

struct InitOptions {
  std::string from, to, kind, strategy = "S";
  std::int32_t codes = 64;
  MixEncoderInit mix;
  MirInit mir;
  ParadeInit parade;
  std::optional<std::int32_t> passage_window, passage_stride;
  std::vector<std::string> links;  // of mir: "passage=none"
};

std::vector<CLI::Option*> add_mix_options(CLI::App& command, InitOptions& options) {
  MixEncoderInit& mix = options.mix;
  return {add_choice(command, "--strategy", options.strategy, {"S", "C"},
                     "Where a candidate's vectors come from: S, special tokens before its words; C, learnt codes"),
          add_default(command, "--vectors", mix.context, "Vectors per candidate, 1 to 16"),
          add_list(command, "--layers", mix.interaction_layers,
                   "mixencoder: the layers, from 0, at which candidates see the query, \"9,10,11\" (default: the "
                   "last). deformer: how many lower layers compute query and document apart (default: three of "
                   "four)"),
          add_choice(command, "--pooling", mix.pooling, {"mean", "split"},
                     "mean | split (the last vector apart from the others)"),
          add_choice(command, "--query-state", mix.query_state, {"gated", "cls"},
                     "What of the query the score takes: gated, or cls, its [CLS] (the paper's ablation without H)"),
          add_choice(command, "--candidate-state", mix.candidate_state, {"interacted", "stored"},
                     "What of the candidate: interacted, or stored, its vectors as they are (without E)"),
          add_list(command, "--labels", mix.labels,
                   "Names of labels, for a classifier of pairs: \"entailment,neutral,contradiction\"")};
}

std::vector<CLI::Option*> add_mir_options(CLI::App& command, InitOptions& options) {
  MirInit& mir = options.mir;
  return {add_default(command, "--document-length", mir.max_document_tokens, "Word pieces of a document"),
          add_list(command, "--views", mir.views, "Views of a document that exchange pivots (the paper's ablations)")
              ->capture_default_str(),
          add_list(command, "--links", options.links,
                   "What pivots see of each other: \"passage=none,token=all\" (default: what their graphs link)"),
          add_choice(command, "--exchanges", mir.exchanges, {"every", "last"},
                     "Layers after which pivots are exchanged: every | last"),
          add_choice(command, "--view-pooling", mir.pooling, {"attention", "max", "transformer"},
                     "How a view's pivots are pooled: attention | max | transformer"),
          command.add_flag("--share-layers", mir.shared_layers, "Pivots pass through the layers of the tokens"),
          command.add_option("--passage-token", mir.passage_token,
                             "Id of the token in front of passages, an unused entry of the vocabulary (default: that "
                             "of [unused0])"),
          command.add_option("--sentence-token", mir.sentence_token,
                             "Id of the token in front of sentences (default: that of [unused1])")};
}

std::vector<CLI::Option*> add_parade_options(CLI::App& command, InitOptions& options) {
  ParadeInit& parade = options.parade;
  return {add_default(command, "--max-passages", parade.max_passages, "Passages of a document"),
          add_choice(command, "--aggregation", parade.aggregation, {"transformer", "max"},
                     "How passages are pooled: transformer | max")};
}

/// Options that only some kinds of checkpoints have, and the one of them that a Deformer has also.
struct OptionGroup {
  std::vector<std::string> kinds;
  std::vector<CLI::Option*> options;
  std::string of_deformer = {};
};

/// Refuses the options of other kinds of checkpoints.
void refuse_others(const std::vector<OptionGroup>& groups, const std::string& kind) {
  for (const OptionGroup& group : groups) {
    if (std::ranges::count(group.kinds, kind) > 0) continue;
    for (const CLI::Option* option : group.options) {
      if (option->count() == 0 || (kind == "deformer" && option->get_name() == group.of_deformer)) continue;
      throw Error(ErrorKind::usage, option->get_name(),
                  fmt::format("applies to --as {} only", join(group.kinds, " and ")),
                  "remove the option, or choose the other kind");
    }
  }
}

void make_deformer(const InitOptions& options) {
  const std::vector<std::int32_t>& layers = options.mix.interaction_layers;
  refuse_if(layers.size() > 1 || (layers.size() == 1 && layers.front() < 1), "--layers", "is not one number from 1 on",
            "give how many of the lower layers compute query and document apart");
  constexpr std::int32_t kAround = 2;  // [CLS] and [SEP]
  DeformerInit settings{.query_length = options.mix.query_max_length - kAround, .seed = options.mix.seed};
  if (!layers.empty()) settings.lower_layers = layers.front();
  init_deformer(options.from, options.to, settings);
}

/// Writes the checkpoint; returns the name of its kind.
const char* make(InitOptions& options) {
  if (options.kind == "deformer") {
    make_deformer(options);
    return "Deformer";
  }
  if (options.kind == "parade") {
    options.parade.seed = options.mix.seed;
    options.parade.window = options.passage_window.value_or(options.parade.window);
    options.parade.stride = options.passage_stride.value_or(options.parade.stride);
    init_parade(options.from, options.to, options.parade);
    return "PARADE";
  }
  if (options.kind == "mir") {
    options.mir.window = options.passage_window.value_or(options.mir.window);
    options.mir.stride = options.passage_stride.value_or(options.mir.stride);
    options.mir.seed = options.mix.seed;
    for (const std::string& link : options.links) {
      const std::size_t equals = std::min(link.find('='), link.size());
      options.mir.links[link.substr(0, equals)] = link.substr(std::min(equals + 1, link.size()));
    }
    init_mir(options.from, options.to, options.mir);
    return "MIR";
  }
  if (options.kind == "polyencoder") {
    const MixEncoderInit& of = options.mix;
    init_poly_encoder(options.from, options.to, {options.codes, of.query_max_length, of.candidate_max_length, of.seed});
    return "Poly-Encoder";
  }
  options.mix.strategy = options.strategy == "S" ? "special_tokens" : "context_codes";
  init_mix_encoder(options.from, options.to, options.mix);
  return "MixEncoder";
}

}  // namespace

void add_model_init(CLI::App& model, Action& chosen) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* command = model.add_subcommand("init", "Make a checkpoint as its training starts, from a BERT");
  command->add_option("TO", options->to, "New directory")->required();
  command->add_option("--from", options->from, "Directory of a BERT (model_type bert), with any head or none")
      ->required();
  command->add_option("--as", options->kind, "deformer | mixencoder | mir | parade | polyencoder")
      ->required()
      ->check(CLI::IsMember({"deformer", "mixencoder", "mir", "parade", "polyencoder"}));
  const std::vector<CLI::Option*> of_mix = add_mix_options(*command, *options);
  const std::vector<CLI::Option*> of_mir = add_mir_options(*command, *options);
  const std::vector<CLI::Option*> of_parade = add_parade_options(*command, *options);
  const std::vector<CLI::Option*> of_passages = {
      command->add_option("--window", options->passage_window, "Word pieces of a passage (default: 128, parade 225)"),
      command->add_option("--stride", options->passage_stride,
                          "Word pieces from the start of a passage to that of the next (default: 96, parade 200)")};
  MixEncoderInit& mix = options->mix;
  const std::vector<CLI::Option*> of_lengths = {
      add_default(*command, "--query-length", mix.query_max_length, "Tokens of a query, with [CLS] and [SEP]"),
      add_default(*command, "--candidate-length", mix.candidate_max_length,
                  "Tokens of a candidate, with [CLS] and [SEP]")};
  const std::vector<CLI::Option*> of_poly = {
      add_default(*command, "--codes", options->codes, "Vectors of a query, for polyencoder")};
  add_default(*command, "--seed", options->mix.seed, "Seed of the random values");
  command->footer(
      "The new weights are copies of the BERT's layers and random values: until the checkpoint is trained, it ranks "
      "at\n"
      "random.\n\nExamples:\n  relucent model init --from bert-base-uncased --as mixencoder --layers 9,10,11 "
      "my-mixencoder\n  relucent model init --from bert-base-uncased --as mir my-mir\n"
      "  relucent model init --from bert-base-uncased --as parade --aggregation max my-parade\n"
      "  relucent model init --from bert-base-uncased --as polyencoder --codes 360 my-poly\n"
      "  relucent model init --from bert-base-uncased --as deformer --layers 9 my-deformer");
  const std::vector<OptionGroup> groups = {{{"parade"}, of_parade},
                                           {{"mir", "parade"}, of_passages},
                                           {{"mixencoder"}, of_mix, "--layers"},
                                           {{"mir"}, of_mir},
                                           {{"mixencoder", "polyencoder"}, of_lengths, "--query-length"},
                                           {{"polyencoder"}, of_poly}};
  on_selection(*command, chosen, [options, groups] {
    refuse_others(groups, options->kind);
    const char* const name = make(*options);
    std::cout << fmt::format("Wrote {}, an untrained {}: it ranks {} until it is trained\n", options->to, name,
                             options->kind == "deformer" ? "badly" : "at random");
    return ok;
  });
}

}  // namespace relucent::program
