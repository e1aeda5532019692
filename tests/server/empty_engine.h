// An engine that can do everything and finds nothing, for tests whose engines differ in one or two answers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/engine.h"

namespace relucent::testing {

class EmptyEngine : public server::Engine {
 public:
  server::RerankScores rerank(std::string_view, std::span<const std::string>, const StopSignal&) override { return {}; }
  SearchResult search(const server::SearchOrder&) override { return {}; }
  CollectionStatistics statistics(const server::SearchOrder&) override { return {}; }
  std::optional<StoredDocument> document(std::string_view, const StopSignal&, const server::TraceContext*) override {
    return std::nullopt;
  }
  bool can_rerank() const override { return true; }
  bool can_search() const override { return true; }
  const server::ModelInfo& model() const override { return model_; }
  ScoreCacheCounts cache() const override { return {}; }
  std::shared_ptr<server::Engine> refreshed() override { return nullptr; }

 private:
  server::ModelInfo model_{"model", "a scorer", "fp32", 512};
};

}  // namespace relucent::testing
