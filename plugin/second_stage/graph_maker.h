#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/graphs/build_graph.h"
#include "model/mir/passage_model.h"
#include "relucent/candidate_inputs.h"
#include "relucent/stop.h"

namespace relucent {

/// What is known of texts from elsewhere than an index, by their ids. Thread-safe.
class TextNotes {
 public:
  TextNotes() = default;
  virtual ~TextNotes() = default;
  TextNotes(const TextNotes&) = delete;
  TextNotes& operator=(const TextNotes&) = delete;

  /// Nothing: tf * idf.
  virtual std::optional<TermWeights> weights_of(std::string_view id) const = 0;
  virtual std::vector<EntityPlace> entities_of(std::string_view id) const = 0;
  virtual GraphOrigins origins() const = 0;
};

/// Makes graphs of texts with the terms and the statistics of an index. Thread-safe.
class GraphMaker {
 public:
  /// @param index  has terms
  GraphMaker(GraphForm form, std::shared_ptr<const InputIndex> index)
      : form_(std::move(form)), index_(std::move(index)) {}

  /// A text's graph with what it was made of.
  BuiltGraph build(std::string_view text, const StopSignal& stop, const TermWeights* weights = nullptr,
                   std::span<const EntityPlace> entities = {}) const;
  /// Its record, as encode_graph() writes it; also of a text without pieces.
  std::string make(std::string_view text, const StopSignal& stop, const TermWeights* weights = nullptr,
                   std::span<const EntityPlace> entities = {}) const;

  const GraphSettings& settings() const noexcept { return form_.settings; }

 private:
  GraphForm form_;
  std::shared_ptr<const InputIndex> index_;
};

}  // namespace relucent
