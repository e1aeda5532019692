#include "plugin/second_stage/graph_input.h"

#include <fmt/core.h>

#include <optional>
#include <utility>
#include <vector>

#include "plugin/index_format/records/index_records.h"
#include "plugin/second_stage/graph_maker.h"
#include "plugin/second_stage/graph_settings.h"
#include "relucent/error.h"

namespace relucent {
namespace {

class Graphs final : public InputSource {
 public:
  Graphs(std::optional<IndexRecords> stored, std::optional<GraphMaker> maker,
         std::shared_ptr<const TextNotes> notes = nullptr)
      : stored_(std::move(stored)), maker_(std::move(maker)), notes_(std::move(notes)) {}

  std::optional<std::string> read(const InputDocument& document, const StopSignal& stop) const override {
    const bool is_stored = stored_ && (!maker_ || stored_->segment_of(document.number).records);
    if (is_stored) return stored_->read(document.number);
    if (!notes_) return maker_.value().make(document.text, stop);
    const std::optional<TermWeights> weights = notes_->weights_of(document.id);
    const std::vector<EntityPlace> entities = notes_->entities_of(document.id);
    return maker_.value().make(document.text, stop, weights ? &*weights : nullptr, entities);
  }

 private:
  std::optional<IndexRecords> stored_;
  std::optional<GraphMaker> maker_;  // for segments without a file, and for texts from elsewhere
  std::shared_ptr<const TextNotes> notes_;
};

std::string describe(const GraphOrigins& origins) {
  return fmt::format("{} weights {} entities", origins.weights, origins.entities ? "and" : "without");
}

/// A warning about graphs unlike those that the model was trained with; nothing if it does not state them.
std::optional<std::string> warning_about(const GraphForm& form, const GraphOrigins& found, const std::string& place) {
  if (!form.trained_with || *form.trained_with == found) return std::nullopt;
  return fmt::format("{}: the graphs have {}, but the model was trained on graphs with {}, so its scores may be worse",
                     place, describe(found), describe(*form.trained_with));
}

/// What a file of graphs states.
GraphOrigins origins_in(const SegmentRecords& records) {
  const GraphOrigin stated = from_settings(records.header().settings);
  const std::string_view weights = value_of(stated, "weights");
  return {std::string(weights.substr(0, weights.find(' '))), value_of(stated, "entities") != "none"};
}

class GraphKind final : public InputKind {
 public:
  GraphKind(GraphForm form, std::filesystem::path checkpoint)
      : form_(std::move(form)), checkpoint_(std::move(checkpoint)) {}

  std::string_view name() const override { return kGraphInput; }
  InputRole role() const override { return InputRole::addition; }
  bool needs_index() const override { return true; }

  std::shared_ptr<const InputSource> open(const std::shared_ptr<const InputIndex>& index,
                                          const StageConfig& stage) const override {
    if (!index->has_terms()) {
      throw Error(ErrorKind::unsupported, checkpoint_.string(),
                  "needs the graphs of the documents, which cannot be made of their texts alone",
                  index->has_candidates() ? "rescore the hits of each index by itself"
                                          : "search an index, or use relucent rerank --index");
    }
    if (!index->has_candidates()) return std::make_shared<Graphs>(std::nullopt, GraphMaker(form_, index));

    const bool may_make = stage.missing_graphs == MissingGraphs::make;
    const std::vector<SegmentIdentity> segments = index->segments();
    if (segments.empty() && !may_make) {
      throw Error(ErrorKind::unsupported, "graphs",
                  "the index is not a folder of Lucene++ segments, which could have graphs",
                  "set [rescorer] missing_graphs to \"make\"");
    }
    const std::string command =
        fmt::format("run `relucent graphs --index {} --model {}`", index->folder().string(), checkpoint_.string());
    const GraphOrigin wanted = graph_origin(form_, index->fields(), index->first_stage());
    IndexRecords stored(index->folder(), kGraphRecords, segments, [&](const SegmentRecords& records) {
      if (const auto other = difference(wanted, from_settings(records.header().settings))) {
        throw Error(ErrorKind::invalid_data, records.path().string(),
                    fmt::format("was made for another model or index: {}", *other));
      }
    });
    bool all_stored = !segments.empty();
    for (const IndexRecords::Segment& segment : stored.segments()) {
      if (!segment.problem) continue;
      all_stored = false;
      if (segment.absent && may_make) continue;
      throw Error(segment.problem->kind(), segment.problem->place(), segment.problem->problem(), command);
    }
    for (const IndexRecords::Segment& segment : stored.segments()) {
      if (!segment.records) continue;
      const auto warning = warning_about(form_, origins_in(*segment.records), segment.records->path().string());
      if (warning) index->warn(*warning);
    }
    if (segments.empty()) return std::make_shared<Graphs>(std::nullopt, GraphMaker(form_, index));
    return std::make_shared<Graphs>(std::move(stored),
                                    all_stored ? std::nullopt : std::optional(GraphMaker(form_, index)));
  }

  const GraphForm& form() const noexcept { return form_; }
  const std::filesystem::path& checkpoint() const noexcept { return checkpoint_; }

 private:
  GraphForm form_;
  std::filesystem::path checkpoint_;
};

}  // namespace

std::shared_ptr<const InputKind> make_graph_kind(GraphForm form, std::filesystem::path checkpoint) {
  return std::make_shared<GraphKind>(std::move(form), std::move(checkpoint));
}

std::vector<std::string> use_notes(std::span<RescoringStage> stages, const std::shared_ptr<const InputIndex>& index,
                                   const std::shared_ptr<const TextNotes>& notes) {
  std::vector<std::string> warnings;
  for (RescoringStage& stage : stages) {
    const InputKinds kinds = stage.scorer->inputs();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const auto* const graphs = dynamic_cast<const GraphKind*>(kinds[i].get());
      if (graphs == nullptr) continue;
      const auto warning =
          warning_about(graphs->form(), notes ? notes->origins() : GraphOrigins(), graphs->checkpoint().string());
      if (warning) warnings.push_back(*warning);
      if (notes) {
        stage.sources.at(i) = std::make_shared<Graphs>(std::nullopt, GraphMaker(graphs->form(), index), notes);
      }
    }
  }
  return warnings;
}

const GraphForm* graph_form_of(const InputKind& kind) {
  const auto* const graphs = dynamic_cast<const GraphKind*>(&kind);
  return graphs != nullptr ? &graphs->form() : nullptr;
}

}  // namespace relucent
