#include "plugin/lucene/graphs/check_graphs.h"

#include <fmt/core.h>

#include <filesystem>

#include "plugin/index_format/records/segment_records_writer.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/segment_identities.h"
#include "plugin/second_stage/graph_settings.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"

namespace relucent {

void check_graphs_of(const SegmentRecords& records, const StopSignal& stop) {
  const GraphSettings settings = settings_in(from_settings(records.header().settings), records.path().string());
  records.check_all(stop);
  for (std::uint32_t i = 0; i < records.header().segment.documents; ++i) {
    stop.throw_if_due("checking graphs");
    const auto record = records.record(i);
    if (!record) continue;
    const DocumentGraph graph =
        decode_graph(settings, *record, fmt::format("{}, document {}", records.path().string(), i));
    pivot_graphs(settings, graph);
  }
}

GraphsCheck check_graphs(const std::filesystem::path& index) {
  return with_errors(index.string(), "checking the graphs", [&] {
    GraphsCheck check;
    const Lucene::IndexReaderPtr reader = open_reader(index);
    const std::vector<SegmentIdentity> segments = identities_of(index_segments(reader));
    check.segments = static_cast<std::int64_t>(segments.size());
    check.leftover = other_records(index, kGraphRecords, segments);
    for (const SegmentIdentity& segment : segments) {
      const std::string name = records_file({}, kGraphRecords, segment.name).string();
      if (!std::filesystem::exists(index / name)) continue;
      try {
        const auto records = SegmentRecords::open(index, kGraphRecords, segment);
        check_graphs_of(*records);
        const GraphOrigin origin = from_settings(records->header().settings);
        if (check.whole.empty()) {
          check.origin =
              fmt::format("weights {}, entities {}", value_of(origin, "weights"), value_of(origin, "entities"));
        }
        check.bytes += static_cast<std::int64_t>(std::filesystem::file_size(index / name));
        check.whole.push_back(name);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::invalid_data) throw;
        check.damaged.push_back(fmt::format("{}: {}", name, error.problem()));
      }
    }
    reader->close();
    return check;
  });
}

}  // namespace relucent
