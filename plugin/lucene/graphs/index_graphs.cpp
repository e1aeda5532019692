#include "plugin/lucene/graphs/index_graphs.h"

#include <fmt/format.h>

#include <algorithm>

#include "plugin/lucene/graphs/index_statistics.h"
#include "plugin/lucene/index/segment_identities.h"
#include "plugin/second_stage/graph_settings.h"
#include "relucent/error.h"

namespace relucent {
namespace {

std::string command_for(const std::filesystem::path& index, const PassageModel& model) {
  return fmt::format("run `relucent graphs --index {} --model {}`", index.string(), model.checkpoint().string());
}

/// Names the whole command.
template <typename Work>
auto with_command(const std::string& command, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), error.place(), error.problem(), command);
  }
}

bool is_there(const std::filesystem::path& file) {
  std::error_code unknown;
  return std::filesystem::exists(file, unknown) || unknown;
}

}  // namespace

IndexGraphs::IndexGraphs(const Lucene::IndexReaderPtr& reader, const IndexConfig& fields,
                         const FirstStageConfig& first_stage, const PassageModel& model, MissingGraphs missing) {
  const GraphOrigin wanted = graph_origin(model.graph_form(), fields, first_stage);
  const IndexSegments index = index_segments(reader);
  const bool may_make = missing == MissingGraphs::make;
  bool all_stored = !index.segments.empty() || reader->maxDoc() == 0;
  if (!all_stored && !may_make) {
    throw Error(ErrorKind::unsupported, "graphs",
                "the index is not a folder of Lucene++ segments, which could have graphs",
                "set [rescorer] missing_graphs to \"make\"");
  }
  const std::string command = command_for(index.folder, model);
  for (const IndexSegment& segment : index.segments) {
    Segment& ours = segments_.emplace_back();
    ours.first = segment.first;
    ours.documents = static_cast<std::int32_t>(segment.identity.documents);
    if (may_make && !is_there(records_file(index.folder, kGraphRecords, segment.identity.name))) {
      all_stored = false;
      continue;
    }
    ours.records =
        with_command(command, [&] { return SegmentRecords::open(index.folder, kGraphRecords, segment.identity); });
    if (const auto other = difference(wanted, from_settings(ours.records->header().settings))) {
      throw Error(ErrorKind::invalid_data, ours.records->path().string(),
                  fmt::format("was made for another model or index: {}", *other), command);
    }
  }
  if (all_stored) return;
  maker_.emplace(model.graph_form(), first_stage, std::make_shared<const IndexStatistics>(reader, fields, first_stage));
}

std::string IndexGraphs::record(std::int32_t document, std::string_view text, const StopSignal& stop) const {
  const auto next = std::upper_bound(segments_.begin(), segments_.end(), document,
                                     [](std::int32_t number, const Segment& one) { return number < one.first; });
  if (next != segments_.begin() && (next - 1)->records) {
    const Segment& segment = *(next - 1);
    // A document that was deleted when the graphs were made is not a hit.
    if (const auto record = segment.records->record(static_cast<std::uint32_t>(document - segment.first))) {
      return std::string(*record);
    }
    throw Error(
        ErrorKind::invalid_data, segment.records->path().string(),
        fmt::format("has no graph of document {}, which was deleted when it was made", document - segment.first),
        "remove the file and run `relucent graphs`");
  }
  return maker_.value().make(text, stop);
}

}  // namespace relucent
