#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "relucent/config.h"

namespace relucent::program {

/// Flags that override a profile's [first_stage], also by Anserini's names.
struct FirstStageFlags {
  std::optional<double> k1, b, mu, lambda, rm3_original_weight;
  std::optional<int> rm3_terms, rm3_documents;
  std::vector<std::string> search_fields;
  bool qld = false, qljm = false, rm3 = false, rm3_any_terms = false;

  /// Throws Error `usage` for flags that contradict each other; check_config() checks the values.
  void apply(FirstStageConfig& config) const;
};

void add_first_stage_flags(CLI::App& command, FirstStageFlags& flags);

}  // namespace relucent::program
