#include "relucent/searcher_manager.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/file/folder_entries.h"
#include "plugin/index_format/segments_file.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/open_index.h"
#include "plugin/lucene/search/searcher_parts.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {

/// A scorer and what it was made of.
struct MadeScorer {
  std::shared_ptr<const Scorer> scorer;
  ScorerConfig settings;
  std::int32_t cache_mb = 0;  ///< the scorer has a cache of this size
  OnError on_error = OnError::first_stage;
  std::string files;
};

namespace {

namespace fs = std::filesystem;

/// The names and states of the files that a scorer was made of: another state may be another model.
std::string files_of_scorer(const ScorerConfig& settings) {
  const auto state_of = [](const fs::path& file) {
    struct stat state = {};
    if (stat(file.c_str(), &state) != 0) return fmt::format("{} ?\n", file.string());
    return fmt::format("{} {} {} {}.{}\n", file.string(), state.st_ino, state.st_size, state.st_mtim.tv_sec,
                       state.st_mtim.tv_nsec);
  };
  std::string states;
  if (settings.module != ScorerConfig().module) states += state_of(settings.module);
  std::set<fs::path> files;
  std::error_code error;
  const fs::path folder = model_folder(settings.model);
  for (const FolderEntry& entry : entries_of(folder, error)) files.insert(folder / entry.name);
  for (const fs::path& file : files) states += state_of(file);
  return states;
}

/// Whether a writer may be writing the newest commit just now: its list of segments exists before it is whole. A writer
/// that was killed also leaves its lock, but writes no more.
bool is_being_committed(const fs::path& folder) {
  constexpr auto longest = std::chrono::minutes(1);
  std::error_code unknown;
  if (!fs::exists(folder / "write.lock", unknown)) return false;
  const std::vector<std::string> lists = segments_files(folder);
  if (lists.empty()) return false;
  const auto written = fs::last_write_time(folder / lists.front(), unknown);
  return unknown || fs::file_time_type::clock::now() - written < longest;
}

/// Scorers that are loaded already serve again.
std::vector<MadeScorer> scorers_for(const Config& config, const std::vector<MadeScorer>& loaded) {
  std::vector<MadeScorer> scorers;
  for (const StageConfig& stage : config.rescorer.effective_stages()) {
    MadeScorer made{nullptr, stage, stage.cache_mb, config.rescorer.on_error, files_of_scorer(stage)};
    const auto same = std::ranges::find_if(loaded, [&](const MadeScorer& one) {
      return one.settings == made.settings && one.cache_mb == made.cache_mb && one.on_error == made.on_error &&
             one.files == made.files;
    });
    made.scorer = same != loaded.end() ? same->scorer : make_scorer(stage, made.on_error);
    scorers.push_back(std::move(made));
  }
  return scorers;
}

}  // namespace

struct SearcherManager::Implementation {
  explicit Implementation(fs::path given) : index(std::move(given)) {}

  const fs::path index;  ///< as given: empty for [index] path
  std::mutex refreshing;
  // Used by the thread that refreshes:
  std::string commits;  ///< commits_state() before the opening
  OpenedIndex opened;
  std::vector<MadeScorer> scorers;
  mutable std::mutex mutex;
  ManagedSearcher current;              ///< of the mutex; written only by the thread that refreshes
  std::shared_ptr<const Config> asked;  ///< before config_of_index(); used by the thread that refreshes

  fs::path folder(const Config& config) const { return folder_to_search(index, config); }

  /// The scorers of now, for another manager to share.
  std::vector<MadeScorer> made() {
    const std::lock_guard lock(refreshing);
    return scorers;
  }

  void reload(const Config& config, std::vector<MadeScorer> others);

  void put_in_place(ManagedSearcher next) {
    next.commit = opened.commit;
    next.number = current.number + 1;
    const std::lock_guard lock(mutex);
    std::swap(current, next);  // the old one is closed without the mutex
  }

  void start(const std::shared_ptr<const Config>& config, const RescorerSource& rescorer, OpenedIndex newest,
             std::string commits_before) {
    ManagedSearcher next;
    Config resolved = config_of_index(newest.reader, *config);
    const bool same = current.config && *current.config == resolved;
    next.config = same ? current.config : std::make_shared<const Config>(std::move(resolved));
    next.searcher =
        make_searcher(newest.reader, *next.config, folder(*config), [&] { return next.rescorer = rescorer(); });
    asked = config;
    opened = std::move(newest);
    commits = std::move(commits_before);
    put_in_place(std::move(next));
  }

  bool refresh() {
    const std::shared_ptr<const Config> config = asked;
    const fs::path place = folder(*config);
    return with_errors(place.string(), "refreshing the searcher", [&] {
      std::string now = commits_state(place);
      if (now == commits) return false;
      OpenedIndex newest = open_index(place, config->index.verify, opened);
      if (newest.reader == opened.reader) {
        if (!newest.damage.empty()) {
          if (is_being_committed(place) || commits_state(place) != now) return false;
          throw Error(ErrorKind::invalid_data, place.string(),
                      fmt::format("a newer commit is damaged or was never finished ({}); the searcher stays at {}",
                                  newest.damage, opened.commit),
                      "commit again, or restore the index from a copy");
        }
        commits = std::move(now);
        return false;
      }
      start(
          config, [&] { return current.rescorer; }, std::move(newest), std::move(now));
      return true;
    });
  }
};

SearcherManager::SearcherManager(const fs::path& index, const Config& config)
    : implementation_(std::make_unique<Implementation>(index)) {
  reload(config);
}

SearcherManager::SearcherManager(const fs::path& index, const Config& config, const SearcherManager& other)
    : implementation_(std::make_unique<Implementation>(index)) {
  reload(config, other);
}

SearcherManager::SearcherManager(const fs::path& index, std::shared_ptr<const Rescorer> rescorer)
    : implementation_(std::make_unique<Implementation>(index)) {
  if (!rescorer) throw Error(ErrorKind::usage, "SearcherManager", "the rescorer is null", "pass a rescorer");
  auto& self = *implementation_;
  const auto config = std::make_shared<const Config>(rescorer->config());
  const fs::path place = self.folder(*config);
  with_errors(place.string(), "opening a searcher", [&] {
    for (const RescoringStage& stage : rescorer->stages()) {
      self.scorers.push_back({stage.scorer, stage.config, stage.config.cache_mb, config->rescorer.on_error,
                              files_of_scorer(stage.config)});
    }
    std::string commits = commits_state(place);
    self.start(
        config, [&] { return rescorer; }, open_index(place, config->index.verify), std::move(commits));
  });
}

SearcherManager::~SearcherManager() = default;

ManagedSearcher SearcherManager::acquire() const {
  const std::lock_guard lock(implementation_->mutex);
  return implementation_->current;
}

bool SearcherManager::maybeRefresh() {
  const std::unique_lock lock(implementation_->refreshing, std::try_to_lock);
  return lock.owns_lock() && implementation_->refresh();
}

bool SearcherManager::maybeRefreshBlocking() {
  const std::lock_guard lock(implementation_->refreshing);
  return implementation_->refresh();
}

void SearcherManager::reload(const Config& config) { implementation_->reload(config, {}); }

void SearcherManager::reload(const Config& config, const SearcherManager& other) {
  implementation_->reload(config, other.implementation_->made());
}

void SearcherManager::Implementation::reload(const Config& config, std::vector<MadeScorer> others) {
  check_config(config);
  const std::lock_guard lock(refreshing);
  const fs::path place = folder(config);
  with_errors(place.string(), "opening a searcher", [&] {
    std::string now = commits_state(place);
    std::vector<MadeScorer> loaded = scorers, next;
    loaded.insert(loaded.end(), others.begin(), others.end());
    OpenedIndex newest = open_index(place, config.index.verify);
    const Config resolved = config_of_index(newest.reader, config);
    const auto rescorer = [&] {
      next = scorers_for(config, loaded);
      std::vector<std::shared_ptr<const Scorer>> made;
      for (const MadeScorer& one : next) made.push_back(one.scorer);
      return std::make_shared<const Rescorer>(resolved, std::move(made));
    };
    start(std::make_shared<const Config>(config), rescorer, std::move(newest), std::move(now));
    scorers = std::move(next);
    // With the scorers' caches, which a Rescorer adds.
    if (const auto& made = current.rescorer) {
      for (std::size_t i = 0; i < scorers.size(); ++i) scorers[i].scorer = made->stages()[i].scorer;
    }
  });
}

}  // namespace relucent
