#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "model/mir/passage_model.h"
#include "relucent/candidate_inputs.h"

namespace relucent {

/// InputKind::name() of the graphs of documents, as encode_graph() writes them.
inline constexpr std::string_view kGraphInput = "graph";

/// The graphs that `relucent graphs` stores next to an index, or, with missing_graphs = "make" and for texts from
/// elsewhere, made of a text with an index's statistics.
///
/// @param checkpoint  of the model, for errors, which name the whole command that stores them
std::shared_ptr<const InputKind> make_graph_kind(GraphForm form, std::filesystem::path checkpoint);

/// The form of a kind that make_graph_kind() made; null for another kind.
const GraphForm* graph_form_of(const InputKind& kind);

}  // namespace relucent
