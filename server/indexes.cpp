#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "relucent/error.h"
#include "server/engine.h"
#include "server/refusal.h"

namespace relucent::server {
namespace {

constexpr std::size_t kMaxName = 64;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

class Indexes final : public Engine {
 public:
  explicit Indexes(std::vector<NamedEngine> engines) : engines_(std::move(engines)) {}

  RerankScores rerank(std::string_view query, std::span<const std::string> texts, const StopSignal& stop) override {
    return first().rerank(query, texts, stop);
  }
  SearchResult search(const SearchOrder& order) override { return first().search(order); }
  CollectionStatistics statistics(const SearchOrder& order) override { return first().statistics(order); }
  std::optional<StoredDocument> document(std::string_view id, const StopSignal& stop,
                                         const TraceContext* trace) override {
    return first().document(id, stop, trace);
  }
  bool can_rerank() const override { return first().can_rerank(); }
  bool can_search() const override { return first().can_search(); }
  const ModelInfo& model() const override { return first().model(); }
  ScoreCacheCounts cache() const override { return first().cache(); }  // all share its model and its cache

  std::shared_ptr<Engine> refreshed() override {
    std::vector<NamedEngine> newest = engines_;
    std::optional<Error> problem;
    bool any = false;
    for (NamedEngine& one : newest) {
      try {
        if (auto engine = one.engine->refreshed()) {
          one.engine = std::move(engine);
          any = true;
        }
      } catch (const Error& error) {
        if (!problem) problem.emplace(error.kind(), "index " + one.name, error.what());
      }
    }
    if (any) return make_indexes(std::move(newest));  // the next look tells of a problem
    if (problem) throw Error(*problem);
    return nullptr;
  }

  Engine& index(std::string_view name) override {
    if (name.empty()) return first();
    const auto found = std::ranges::find(engines_, name, &NamedEngine::name);
    if (found != engines_.end()) return *found->engine;
    throw Refusal(404, "Validation", fmt::format("there is no such index; `index` is one of {}", join(indexes())));
  }
  std::vector<std::string> indexes() const override {
    std::vector<std::string> names;
    for (const NamedEngine& one : engines_) names.push_back(one.name);
    return names;
  }
  std::shared_ptr<Engine> engine_of(std::string_view name) const override {
    const auto found = std::ranges::find(engines_, name, &NamedEngine::name);
    return found == engines_.end() ? nullptr : found->engine;
  }

 private:
  Engine& first() const { return *engines_.front().engine; }

  std::vector<NamedEngine> engines_;
};

}  // namespace

Engine& Engine::index(std::string_view name) {
  if (name.empty()) return *this;
  throw Refusal(404, "Validation", "this server's indexes have no names: leave out `index`");
}

bool is_index_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && is_letter_or_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

std::shared_ptr<Engine> make_indexes(std::vector<NamedEngine> engines) {
  return std::make_shared<Indexes>(std::move(engines));
}

}  // namespace relucent::server
