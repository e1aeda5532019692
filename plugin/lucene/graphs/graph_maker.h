#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "model/graphs/build_graph.h"
#include "model/mir/passage_model.h"
#include "relucent/config.h"
#include "relucent/stop.h"

namespace relucent {

class IndexStatistics;

/// The statistics of an index that is opened for them. Throws Error.
std::shared_ptr<const IndexStatistics> open_statistics(const std::filesystem::path& index, const Config& config);

/// Makes graphs of texts with the terms and the statistics of an index. Thread-safe.
class GraphMaker {
 public:
  GraphMaker(GraphForm form, const FirstStageConfig& first_stage, std::shared_ptr<const IndexStatistics> statistics)
      : form_(std::move(form)), first_stage_(first_stage), statistics_(std::move(statistics)) {}

  /// A text's graph with what it was made of.
  BuiltGraph build(std::string_view text, const StopSignal& stop, const TermWeights* weights = nullptr,
                   std::span<const EntityPlace> entities = {}) const;
  /// Its record, as encode_graph() writes it; also of a text without pieces.
  std::string make(std::string_view text, const StopSignal& stop, const TermWeights* weights = nullptr,
                   std::span<const EntityPlace> entities = {}) const;

  const GraphSettings& settings() const noexcept { return form_.settings; }

 private:
  GraphForm form_;
  FirstStageConfig first_stage_;
  std::shared_ptr<const IndexStatistics> statistics_;
};

}  // namespace relucent
