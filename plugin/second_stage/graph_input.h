#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/mir/passage_model.h"
#include "plugin/second_stage/graph_maker.h"
#include "relucent/candidate_inputs.h"
#include "relucent/rescore_candidates.h"

namespace relucent {

/// InputKind::name() of the graphs of documents, as encode_graph() writes them.
inline constexpr std::string_view kGraphInput = "graph";

/// The graphs that `relucent graphs` stores next to an index, or, with missing_graphs = "make" and for texts from
/// elsewhere, made of a text with an index's statistics.
///
/// @param checkpoint  of the model, for errors, which name the whole command that stores them
std::shared_ptr<const InputKind> make_graph_kind(GraphForm form, std::filesystem::path checkpoint);

/// For stages whose inputs open_inputs() opened for texts from elsewhere: their graphs take weights and entities from
/// `notes`. Returns warnings of models that were trained with others.
///
/// @param notes  null: tf * idf, and no entities
std::vector<std::string> use_notes(std::span<RescoringStage> stages, const std::shared_ptr<const InputIndex>& index,
                                   const std::shared_ptr<const TextNotes>& notes);

/// The form of a kind that make_graph_kind() made; null for another kind.
const GraphForm* graph_form_of(const InputKind& kind);

}  // namespace relucent
