#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/reference_library.h"
#include "relucent/device.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/model/late_interaction.h"
#include "relucent/threads.h"
#include "relucent/version.h"

namespace relucent::program {
namespace {

struct CompareOptions {
  std::string model, library, input, python = "python3", device = "cpu", precision = "fp32";
  std::size_t limit = 200;
  int threads = 0;
  bool json = false;
};

/// Pairs of one query.
struct Group {
  std::string_view id, query;
  std::vector<std::string_view> names, texts;
};

struct Comparison {
  std::size_t pairs = 0;
  double largest = 0, mean = 0, tau = 0;
  std::string largest_at;  ///< the pair's query and document
  double seconds = 0;      ///< ours
};

std::vector<Group> groups_of(const index_tools::RerankInput& input, std::size_t limit) {
  std::vector<Group> groups;
  for (const auto& query : input.queries) {
    Group group{query.id, query.text, {}, {}};
    for (const auto& candidate : query.candidates) {
      if (candidate.text.empty() || limit == 0) continue;
      group.names.push_back(candidate.docno);
      group.texts.push_back(candidate.text);
      --limit;
    }
    if (!group.texts.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

/// Kendall's tau-b; 1 if all of one side are equal.
double kendall(const std::vector<double>& a, const std::vector<double>& b) {
  const auto sign = [](double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; };
  double agreeing = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int x = sign(a[i] - a[j]), y = sign(b[i] - b[j]);
      agreeing += x * y;
      of_a += x * x;
      of_b += y * y;
    }
  }
  return of_a * of_b > 0 ? agreeing / std::sqrt(of_a * of_b) : 1;
}

/// One of ours: a cross-encoder, an embedding model or a ColBERT.
class Scorer {
 public:
  Scorer(const std::filesystem::path& folder, const CrossEncoderOptions& settings) {
    if (!LateInteraction::is(folder)) {
      pairs_ = CrossEncoder::load(folder, settings);
      if (pairs_->most_candidates() == 0) return;
      throw Error(ErrorKind::unsupported, folder.string(),
                  "is a Set-Encoder, whose scores depend on all candidates of a query",
                  "compare a model that scores each pair by itself");
    }
    vectors_ = LateInteraction::load(folder, settings.backend);
  }

  ReferenceKind kind() const noexcept {
    if (pairs_) return ReferenceKind::pairs;
    return vectors_->per_text() ? ReferenceKind::embeddings : ReferenceKind::late_interaction;
  }
  const BackendInfo& backend() const noexcept { return pairs_ ? pairs_->backend() : vectors_->backend(); }

  void score(const Group& group, const StopSignal& stop, std::vector<double>& scores) const {
    if (pairs_) {
      for (const PairScore& one : pairs_->score(group.query, group.texts, stop).documents) scores.push_back(one.logit);
      return;
    }
    std::vector<LateCandidate> candidates;
    for (const std::string_view text : group.texts) candidates.push_back({text});
    for (const LateScore& one : vectors_->score(group.query, candidates, stop).candidates) scores.push_back(one.score);
  }

 private:
  std::shared_ptr<const CrossEncoder> pairs_;
  std::shared_ptr<const LateInteraction> vectors_;
};

std::vector<double> score_with(const Scorer& model, const std::vector<Group>& groups, const InterruptStop& interrupt,
                               Comparison& comparison) {
  const StopSignal stop{{}, interrupt.token()};
  std::vector<double> scores;
  model.score(groups.front(), stop, scores);  // the first call also prepares
  scores.clear();
  const auto start = std::chrono::steady_clock::now();
  for (const Group& group : groups) model.score(group, stop, scores);
  comparison.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return scores;
}

void compare_scores(const std::vector<Group>& groups, const std::vector<double>& ours,
                    const std::vector<double>& theirs, Comparison& comparison) {
  comparison.pairs = ours.size();
  std::size_t i = 0;
  for (const Group& group : groups) {
    for (const std::string_view name : group.names) {
      const double difference = std::abs(ours[i] - theirs[i]);
      ++i;
      comparison.mean += difference / static_cast<double>(ours.size());
      if (difference <= comparison.largest && !comparison.largest_at.empty()) continue;
      comparison.largest = difference;
      comparison.largest_at = fmt::format("query {}, document {}", group.id, name);
    }
  }
  comparison.tau = kendall(ours, theirs);
}

/// The library's first.
std::string versions_of(const CompareOptions& options, const ReferenceScores& reference) {
  std::string first, others;
  for (const auto& [name, version] : reference.versions) {
    (name == options.library ? first : others) += fmt::format(", {} {}", name, version);
  }
  return (first + others).substr(std::min<std::size_t>(2, first.size() + others.size()));
}

void print(const CompareOptions& options, const Comparison& found, const ReferenceScores& reference,
           const std::string& backend) {
  constexpr double kUsual = 1e-2;  // of fp32
  if (options.json) {
    const nlohmann::json all = {{"model", options.model},
                                {"library", options.library},
                                {"versions", reference.versions},
                                {"relucent", version()},
                                {"backend", backend},
                                {"pairs", found.pairs},
                                {"largest_difference", found.largest},
                                {"largest_at", found.largest_at},
                                {"mean_difference", found.mean},
                                {"kendall_tau", found.tau},
                                {"seconds", found.seconds},
                                {"library_seconds", reference.seconds}};
    std::cout << all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return;
  }
  const auto line = [](const char* name, const std::string& text) {
    std::cout << fmt::format("{:<20}{}\n", name, text);
  };
  line("model", options.model);
  line("compared with", versions_of(options, reference));
  line("runs on", backend);
  line("pairs", std::to_string(found.pairs));
  line("largest difference", fmt::format("{:.2g} of a score ({})", found.largest, found.largest_at));
  line("mean difference", fmt::format("{:.2g}", found.mean));
  line("Kendall's tau", fmt::format("{:.4f}", found.tau));
  line("time", fmt::format("{:.2f} s, {} {:.2f} s ({:.2f} times as long)", found.seconds, options.library,
                           reference.seconds, reference.seconds / found.seconds));
  std::cout << fmt::format("| `{}` | {} | {} | {:.2g} | {:.4f} | {:.2f}, {:.2f} |\n", options.model,
                           versions_of(options, reference), found.pairs, found.largest, found.tau, found.seconds,
                           reference.seconds);
  if (found.largest > kUsual && options.precision == "fp32") {
    std::cerr << "relucent: warning: in fp32 the scores usually differ by less than 0.01; one of the two computes "
                 "something else than the other\n";
  }
}

/// Embeddings and late interaction have a library each, which computes nothing else here.
void require_library(const std::filesystem::path& folder, ReferenceKind kind, const std::string& library) {
  const auto refuse = [&](const char* what, const char* with) {
    throw Error(ErrorKind::unsupported, folder.string(), what, fmt::format("compare it with {}", with));
  };
  switch (kind) {
    case ReferenceKind::pairs:
      if (library == "pylate") refuse("is not a ColBERT", "sentence-transformers or transformers");
      break;
    case ReferenceKind::embeddings:
      if (library != "sentence-transformers") refuse("is an embedding model", "sentence-transformers");
      break;
    case ReferenceKind::late_interaction:
      if (library != "pylate") refuse("is a ColBERT", "pylate");
      break;
  }
}

int compare(const CompareOptions& options) {
  const InterruptStop interrupt;
  const std::filesystem::path folder = model_folder(options.model);
  CrossEncoderOptions settings;
  settings.backend.device = parse_device(options.device);
  settings.backend.precision = parse_precision(options.precision);
  settings.backend.threads = options.threads > 0 ? options.threads : available_cores();
  const auto input = index_tools::read_rerank_input(options.input, false);
  const std::vector<Group> groups = groups_of(input, options.limit);
  refuse_if(groups.empty(), options.input, "has no pair of a query and a text",
            "give lines with qid, query, docno and text");
  const Scorer model(folder, settings);
  require_library(folder, model.kind(), options.library);
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (const Group& group : groups) {
    for (const std::string_view text : group.texts) pairs.emplace_back(group.query, text);
  }
  const ReferenceScores reference = score_with_library(options.python, options.library, folder, pairs,
                                                       settings.backend.threads, model.kind(), interrupt.token());
  Comparison found;
  const std::vector<double> ours = score_with(model, groups, interrupt, found);
  compare_scores(groups, ours, reference.scores, found);
  print(options, found, reference, describe(model.backend()));
  return ok;
}

}  // namespace

void add_model_compare(CLI::App& model, Action& chosen) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command = model.add_subcommand("compare", "Compare a checkpoint's scores with a Python library's");
  command->add_option("MODEL", options->model, "Checkpoint directory, or ORG/NAME in Hugging Face's cache")->required();
  command->add_option("--with", options->library, "sentence-transformers | transformers | pylate (a ColBERT)")
      ->required()
      ->check(CLI::IsMember({"sentence-transformers", "transformers", "pylate"}));
  command->add_option("--input", options->input, "rerank.jsonl[.gz] with qid, query, docno and text")->required();
  add_default(*command, "--limit", options->limit, "Pairs at most")->check(CLI::Range(1, 5000));
  add_default(*command, "--python", options->python, "The interpreter that has the library");
  add_default(*command, "--device", options->device, "auto | ref | cpu | cuda:N | cuda");
  add_default(*command, "--precision", options->precision, "auto | fp32 | tf32 | bf16 | fp16 | int16 | int8");
  add_default(*command, "--threads", options->threads, "For both programs; 0: every core this process may use");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Downloads nothing. The library runs in fp32 on the CPU in a process of its own and returns raw logits, "
      "the similarities of an embedding model, or a ColBERT's MaxSim.\n\n"
      "Example:\n  relucent model compare cross-encoder/ms-marco-MiniLM-L6-v2 --with sentence-transformers "
      "--input pairs.rerank.jsonl");
  on_selection(*command, chosen, [options] { return compare(*options); });
}

}  // namespace relucent::program
