#include "plugin/graphs/check_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file/file_io.h"
#include "plugin/graphs/graph_settings.h"
#include "plugin/index/records/segment_identities.h"
#include "plugin/lucene_errors.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"

namespace relucent {
namespace {

void check_graphs_of(const SegmentRecords& records) {
  const GraphSettings settings = settings_in(from_settings(records.header().settings), records.path().string());
  records.check_all();
  for (std::uint32_t i = 0; i < records.header().segment.documents; ++i) {
    const auto record = records.record(i);
    if (!record) continue;
    const DocumentGraph graph =
        decode_graph(settings, *record, fmt::format("{}, document {}", records.path().string(), i));
    pivot_graphs(settings, graph);
  }
}

}  // namespace

GraphsCheck check_graphs(const std::filesystem::path& index) {
  return with_errors(index.string(), "checking the graphs", [&] {
    GraphsCheck check;
    std::map<std::string, SegmentIdentity> segments;
    const Lucene::IndexReaderPtr reader = open_reader(index);
    for (const IndexSegment& segment : index_segments(reader).segments) {
      segments[records_file({}, kGraphRecords, segment.identity.name).string()] = segment.identity;
    }
    check.segments = static_cast<std::int64_t>(segments.size());
    std::vector<std::string> names;
    std::error_code failure;
    for (std::filesystem::directory_iterator i(index, failure), end; !failure && i != end; i.increment(failure)) {
      names.push_back(i->path().filename().string());
    }
    if (failure) throw_io_error(index, "listing the directory", failure.value());
    std::sort(names.begin(), names.end());
    const std::string suffix = fmt::format(".{}", kGraphRecords.name);
    for (const std::string& name : names) {
      if (name.starts_with("relucent-_") && name.ends_with(suffix + ".part")) check.parts.push_back(name);
      if (!name.starts_with("relucent-_") || !name.ends_with(suffix)) continue;
      const auto segment = segments.find(name);
      if (segment == segments.end()) {
        check.leftover.push_back(name);
        continue;
      }
      try {
        const auto records = SegmentRecords::open(index, kGraphRecords, segment->second);
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
