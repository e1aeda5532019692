#include "index_tools/program/model_init.h"

#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  return {
      command
          .add_option("--strategy", options.strategy,
                      "Where a candidate's vectors come from: S, special tokens before its words; C, learnt codes")
          ->capture_default_str()
          ->check(CLI::IsMember({"S", "C"})),
      command.add_option("--vectors", mix.context, "Vectors per candidate, 1 to 16")->capture_default_str(),
      command
          .add_option("--layers", mix.interaction_layers,
                      "mixencoder: the layers, from 0, at which candidates see the query, \"9,10,11\" (default: the "
                      "last). deformer: how many lower layers compute query and document apart (default: three of "
                      "four)")
          ->delimiter(',')
          ->allow_extra_args(false),
      command.add_option("--pooling", mix.pooling, "mean | split (the last vector apart from the others)")
          ->capture_default_str()
          ->check(CLI::IsMember({"mean", "split"})),
      command
          .add_option("--query-state", mix.query_state,
                      "What of the query the score takes: gated, or cls, its [CLS] (the paper's ablation without H)")
          ->capture_default_str()
          ->check(CLI::IsMember({"gated", "cls"})),
      command
          .add_option("--candidate-state", mix.candidate_state,
                      "What of the candidate: interacted, or stored, its vectors as they are (without E)")
          ->capture_default_str()
          ->check(CLI::IsMember({"interacted", "stored"})),
      command
          .add_option("--labels", mix.labels,
                      "Names of labels, for a classifier of pairs: \"entailment,neutral,contradiction\"")
          ->delimiter(',')
          ->allow_extra_args(false)};
}

std::vector<CLI::Option*> add_mir_options(CLI::App& command, InitOptions& options) {
  MirInit& mir = options.mir;
  return {
      command.add_option("--document-length", mir.max_document_tokens, "Word pieces of a document")
          ->capture_default_str(),
      command.add_option("--views", mir.views, "Views of a document that exchange pivots (the paper's ablations)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str(),
      command
          .add_option("--links", options.links,
                      "What pivots see of each other: \"passage=none,token=all\" (default: what their graphs link)")
          ->delimiter(',')
          ->allow_extra_args(false),
      command.add_option("--exchanges", mir.exchanges, "Layers after which pivots are exchanged: every | last")
          ->capture_default_str()
          ->check(CLI::IsMember({"every", "last"})),
      command
          .add_option("--view-pooling", mir.pooling, "How a view's pivots are pooled: attention | max | transformer")
          ->capture_default_str()
          ->check(CLI::IsMember({"attention", "max", "transformer"})),
      command.add_flag("--share-layers", mir.shared_layers, "Pivots pass through the layers of the tokens"),
      command.add_option("--passage-token", mir.passage_token,
                         "Id of the token in front of passages, an unused entry of the vocabulary (default: that "
                         "of [unused0])"),
      command.add_option("--sentence-token", mir.sentence_token,
                         "Id of the token in front of sentences (default: that of [unused1])")};
}

std::vector<CLI::Option*> add_parade_options(CLI::App& command, InitOptions& options) {
  ParadeInit& parade = options.parade;
  return {command.add_option("--max-passages", parade.max_passages, "Passages of a document")->capture_default_str(),
          command.add_option("--aggregation", parade.aggregation, "How passages are pooled: transformer | max")
              ->capture_default_str()
              ->check(CLI::IsMember({"transformer", "max"}))};
}

/// Refuses the options of another kind of checkpoint.
void refuse_given(const std::vector<CLI::Option*>& options, const char* kind, std::string_view except = {}) {
  for (const CLI::Option* option : options) {
    if (option->count() == 0 || option->get_name() == except) continue;
    throw Error(ErrorKind::usage, option->get_name(), fmt::format("applies to --as {} only", kind),
                "remove the option, or choose the other kind");
  }
}

void make_deformer(const InitOptions& options) {
  const std::vector<std::int32_t>& layers = options.mix.interaction_layers;
  if (layers.size() > 1 || (layers.size() == 1 && layers.front() < 1)) {
    throw Error(ErrorKind::usage, "--layers", "is not one number from 1 on",
                "give how many of the lower layers compute query and document apart");
  }
  constexpr std::int32_t kAround = 2;  // [CLS] and [SEP]
  DeformerInit settings{.query_length = options.mix.query_max_length - kAround, .seed = options.mix.seed};
  if (!layers.empty()) settings.lower_layers = layers.front();
  init_deformer(options.from, options.to, settings);
  std::cout << "Wrote " << options.to << ", an untrained Deformer: it ranks badly until it is trained\n";
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
      command->add_option("--query-length", mix.query_max_length, "Tokens of a query, with [CLS] and [SEP]")
          ->capture_default_str(),
      command->add_option("--candidate-length", mix.candidate_max_length, "Tokens of a candidate, with [CLS] and [SEP]")
          ->capture_default_str()};
  const std::vector<CLI::Option*> of_poly = {
      command->add_option("--codes", options->codes, "Vectors of a query, for polyencoder")->capture_default_str()};
  command->add_option("--seed", options->mix.seed, "Seed of the random values")->capture_default_str();
  command->footer(
      "The new weights are copies of the BERT's layers and random values: until the checkpoint is trained, it ranks "
      "at\n"
      "random.\n\nExamples:\n  relucent model init --from bert-base-uncased --as mixencoder --layers 9,10,11 "
      "my-mixencoder\n  relucent model init --from bert-base-uncased --as mir my-mir\n"
      "  relucent model init --from bert-base-uncased --as parade --aggregation max my-parade\n"
      "  relucent model init --from bert-base-uncased --as polyencoder --codes 360 my-poly\n"
      "  relucent model init --from bert-base-uncased --as deformer --layers 9 my-deformer");
  command->callback([&chosen, options, of_mix, of_mir, of_parade, of_passages, of_lengths, of_poly] {
    chosen = [options, of_mix, of_mir, of_parade, of_passages, of_lengths, of_poly] {
      if (options->kind != "parade") refuse_given(of_parade, "parade");
      if (options->kind != "parade" && options->kind != "mir") refuse_given(of_passages, "mir and parade");
      if (options->kind == "deformer") {
        refuse_given(of_mix, "mixencoder", "--layers");
        refuse_given(of_mir, "mir");
        refuse_given(of_lengths, "mixencoder and polyencoder", "--query-length");
        refuse_given(of_poly, "polyencoder");
        make_deformer(*options);
        return ok;
      }
      if (options->kind == "parade") {
        refuse_given(of_mix, "mixencoder");
        refuse_given(of_mir, "mir");
        refuse_given(of_lengths, "mixencoder and polyencoder");
        refuse_given(of_poly, "polyencoder");
        options->parade.seed = options->mix.seed;
        options->parade.window = options->passage_window.value_or(options->parade.window);
        options->parade.stride = options->passage_stride.value_or(options->parade.stride);
        init_parade(options->from, options->to, options->parade);
        std::cout << "Wrote " << options->to << ", an untrained PARADE: it ranks at random until it is trained\n";
        return ok;
      }
      if (options->kind == "mir") {
        options->mir.window = options->passage_window.value_or(options->mir.window);
        options->mir.stride = options->passage_stride.value_or(options->mir.stride);
        refuse_given(of_mix, "mixencoder");
        refuse_given(of_lengths, "mixencoder and polyencoder");
        refuse_given(of_poly, "polyencoder");
        options->mir.seed = options->mix.seed;
        for (const std::string& link : options->links) {
          const std::size_t equals = std::min(link.find('='), link.size());
          options->mir.links[link.substr(0, equals)] = link.substr(std::min(equals + 1, link.size()));
        }
        init_mir(options->from, options->to, options->mir);
        std::cout << "Wrote " << options->to << ", an untrained MIR: it ranks at random until it is trained\n";
        return ok;
      }
      if (options->kind == "polyencoder") {
        refuse_given(of_mix, "mixencoder");
        refuse_given(of_mir, "mir");
        const MixEncoderInit& of = options->mix;
        init_poly_encoder(options->from, options->to,
                          {options->codes, of.query_max_length, of.candidate_max_length, of.seed});
        std::cout << "Wrote " << options->to << ", an untrained Poly-Encoder: it ranks at random until it is trained\n";
        return ok;
      }
      refuse_given(of_mir, "mir");
      refuse_given(of_poly, "polyencoder");
      options->mix.strategy = options->strategy == "S" ? "special_tokens" : "context_codes";
      init_mix_encoder(options->from, options->to, options->mix);
      std::cout << "Wrote " << options->to << ", an untrained MixEncoder: it ranks at random until it is trained\n";
      return ok;
    };
  });
}

}  // namespace relucent::program
