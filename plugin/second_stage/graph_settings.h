#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/mir/passage_model.h"
#include "plugin/index_format/records/segment_records.h"
#include "relucent/config.h"

namespace relucent {

inline constexpr RecordsKind kGraphRecords{"graphs", "relucent graphs"};

/// What graphs were made with, as a file of them states it: names and values, in order.
using GraphOrigin = std::vector<std::pair<std::string, std::string>>;

/// What must agree between the graphs of an index and a search: the model's part and the index's.
GraphOrigin graph_origin(const GraphForm& form, const IndexConfig& fields, const FirstStageConfig& first_stage);

/// The settings that records were encoded with. Throws Error `invalid_data` naming `place` if they are not stated.
GraphSettings settings_in(const GraphOrigin& origin, const std::string& place);

/// As RecordsHeader::settings: a line each.
std::string to_settings(const GraphOrigin& origin);
GraphOrigin from_settings(std::string_view settings);
/// The value of a name; empty if there is none.
std::string_view value_of(const GraphOrigin& origin, std::string_view name);

/// The first of the wanted values that others do not have: "passage_window is 64, not 128"; nothing if they have all.
std::optional<std::string> difference(const GraphOrigin& wanted, const GraphOrigin& found);

}  // namespace relucent
