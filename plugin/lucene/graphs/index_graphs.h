#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/index_format/records/segment_records.h"
#include "plugin/lucene/graphs/graph_maker.h"
#include "relucent/config.h"
#include "relucent/scorer.h"
#include "relucent/stop.h"

namespace relucent {

/// The graphs of an index's documents for one model, as `relucent graphs` stored them next to the index. Thread-safe.
class IndexGraphs {
 public:
  /// Throws Error naming the file and the command that repairs it: `io` if a segment has no file, `invalid_data` for
  /// one that is damaged or was made for another index, model or analyzer. With `missing` = make, segments without a
  /// file are not an error, nor is a reader without a folder of segments.
  IndexGraphs(const Lucene::IndexReaderPtr& reader, const IndexConfig& fields, const FirstStageConfig& first_stage,
              const PassageModel& model, MissingGraphs missing);

  /// The record of a document's graph: stored, or made of its text, as the model reads it. Throws Error `invalid_data`
  /// for a damaged record.
  std::string record(std::int32_t document, std::string_view text, const StopSignal& stop) const;

 private:
  struct Segment {
    std::int32_t first = 0, documents = 0;
    std::shared_ptr<const SegmentRecords> records;  // null: their graphs are made
  };
  std::vector<Segment> segments_;
  std::optional<GraphMaker> maker_;  // if segments have no file
};

}  // namespace relucent
