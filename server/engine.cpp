// The only file of the server that knows Lucene++.
#include "server/engine.h"

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <IndexReader.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "plugin/lucene/graphs/index_statistics.h"
#include "relucent/analysis.h"
#include "relucent/bm25.h"
#include "relucent/rescorer.h"
#include "relucent/searcher_manager.h"
#include "server/scoring.h"

namespace relucent::server {
namespace {

class OpenEngine final : public Engine {
 public:
  /// @param folder  of the index; empty: none
  /// @param before  what this one replaces; its index may be another one; null: none
  /// @param other   an engine over another index, whose model may be the same; null: none
  /// @param reread  whether `before`'s settings and model are to be compared with `config`
  OpenEngine(const std::filesystem::path& folder, const Config& config, const OpenEngine* before,
             const OpenEngine* other = nullptr, bool reread = true)
      : folder_(folder.string()), config_(config) {
    if (folder.empty()) {
      if (config.rescorer.enabled) rescorer_ = std::make_shared<const Rescorer>(config);
    } else {
      const SearcherManager* other_manager = other != nullptr ? other->manager_.get() : nullptr;
      if (before != nullptr && before->manager_ && before->folder_ == folder_) {
        manager_ = before->manager_;
        if (reread) other_manager != nullptr ? manager_->reload(config, *other_manager) : manager_->reload(config);
      } else {
        if (other_manager == nullptr && before != nullptr) other_manager = before->manager_.get();
        manager_ = other_manager != nullptr ? std::make_shared<SearcherManager>(folder, config, *other_manager)
                                            : std::make_shared<SearcherManager>(folder, config);
      }
      searcher_ = manager_->acquire();
      rescorer_ = searcher_.rescorer;
      session_ = std::make_unique<SearchSession>(searcher_, folder_, QuerySyntax::words);
      (void)analyze_english("");  // compiles the word rules, for which the first query may have no memory
    }
    if (!rescorer_) return;
    model_ = model_info(config, rescorer_->scorer());
    last_ = {rescorer_->stages().back()};
    const bool needs_index = need_index(last_);
    if (needs_index && folder.empty()) {
      last_.clear();
    } else {
      open_inputs(last_, needs_index ? open_statistics(folder, config) : nullptr);
    }
  }

  RerankScores rerank(std::string_view query, std::span<const std::string> texts, const StopSignal& stop) override {
    RerankScores scores = score_texts(last_.front(), query, texts, stop);
    scores.meaning = model_.meaning;
    return scores;
  }

  SearchResult search(const SearchOrder& order) override {
    SearchSession& session = order.rescore ? *session_ : first_stage();
    try {
      return session.search(order);
    } catch (const Error& error) {
      // Only these of a request can be wrong in a way that the index detects.
      const bool may_be_wrong =
          order.statistics || !order.filter.empty() || !order.facets.empty() || !order.search_fields.empty();
      if (error.kind() != ErrorKind::usage || may_be_wrong) throw;
      throw Error(ErrorKind::unsupported, error.place(), error.problem(), error.remedy());
    }
  }

  CollectionStatistics statistics(const SearchOrder& order) override {
    return session_->statistics(order.query, order.search_fields);
  }

  std::optional<StoredDocument> document(std::string_view id, const StopSignal&, const TraceContext*) override {
    return session_->document(id);
  }

  bool can_rerank() const override { return !last_.empty(); }
  const IndexConfig* fields() const override { return session_ ? &searcher_.config->index : nullptr; }
  bool can_search() const override { return session_ != nullptr; }
  const ModelInfo& model() const override { return model_; }
  ScoreCacheCounts cache() const override { return rescorer_ ? cache_counts(rescorer_->stages()) : ScoreCacheCounts(); }

  std::shared_ptr<Engine> refreshed() override {
    if (!manager_ || !manager_->maybeRefresh()) return nullptr;
    return std::make_shared<OpenEngine>(folder_, config_, this, nullptr, false);
  }

 private:
  /// The same index without the second stage, opened by the first request that wants it.
  SearchSession& first_stage() {
    std::call_once(first_stage_opened_, [this] {
      auto config = std::make_shared<Config>(*searcher_.config);
      config->rescorer.enabled = false;
      ManagedSearcher bm25;
      bm25.searcher = Lucene::newLucene<BM25Searcher>(searcher_.searcher->getIndexReader(), config->first_stage,
                                                      config->index, config->log);
      bm25.config = std::move(config);
      first_stage_ = std::make_unique<SearchSession>(bm25, folder_, QuerySyntax::words);
    });
    return *first_stage_;
  }

  std::string folder_;
  Config config_;
  std::shared_ptr<SearcherManager> manager_;  // of all engines of a server, which differ in what they acquired
  ManagedSearcher searcher_;
  std::shared_ptr<const Rescorer> rescorer_;  // null: BM25 alone
  std::unique_ptr<SearchSession> session_;    // null: no index
  std::once_flag first_stage_opened_;
  std::unique_ptr<SearchSession> first_stage_;
  std::vector<RescoringStage> last_;  // the last stage, for texts from elsewhere; none: it cannot score them
  ModelInfo model_;
};

}  // namespace

std::shared_ptr<Engine> open_engine(const std::filesystem::path& index, const Config& config,
                                    const std::shared_ptr<Engine>& before, const std::shared_ptr<Engine>& other) {
  const std::filesystem::path folder = index.empty() ? std::filesystem::path(config.index.path) : index;
  return std::make_shared<OpenEngine>(absolute_path(folder.string()), with_absolute_paths(config),
                                      dynamic_cast<const OpenEngine*>(before.get()),
                                      dynamic_cast<const OpenEngine*>(other.get()));
}

}  // namespace relucent::server
