#include "index_tools/indexing/updater.h"

#include <fmt/core.h>

#include <chrono>
#include <optional>

#include "base/file/file_io.h"
#include "index_tools/corpora/corpus_reader.h"
#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/indexing/document_feed.h"
#include "index_tools/indexing/index_change.h"
#include "index_tools/indexing/index_input.h"
#include "index_tools/indexing/progress.h"
#include "plugin/index_format/segments_file.h"
#include "relucent/error.h"
#include "relucent/index_files.h"
#include "relucent/times.h"

namespace relucent::index_tools {
namespace {

constexpr std::int64_t kBytesPerCommit = std::int64_t{1} << 30;

void require_index(const std::filesystem::path& index) {
  if (is_directory(status_of(index)) && !segments_files(index).empty()) return;
  throw Error(ErrorKind::usage, index.string(), "the directory holds no index to change",
              "check the path, or build an index with `relucent index`");
}

class UpdateRun {
 public:
  explicit UpdateRun(const IndexJob& job) : job_(job), corpus_(find_corpus(job.corpus)) {}

  UpdateSummary run() {
    const auto started = std::chrono::steady_clock::now();
    if (job_.duplicates == Duplicates::keep) {
      throw Error(ErrorKind::usage, "--duplicates keep", "cannot be combined with --update",
                  "an id names one document: choose error or skip-later");
    }
    require_index(job_.index);
    const InputFiles input = find_input(job_, corpus_, summary_.index);
    change_.emplace(job_.index, builder_options(job_));
    summary_.index.recovered = change_->recovered();
    put_documents(input);
    change_->close();
    finish(input);
    for (const IndexFiles::File& file : index_files(job_.index).recorded) summary_.index.index_bytes += file.size;
    summary_.index.time = time_since(started);
    return std::move(summary_);
  }

 private:
  void put_documents(const InputFiles& input) {
    CorpusReader reader(corpus_, input.files, job_.names, job_.strict);
    DocumentFeed feed(reader, job_.duplicates, 0, job_.interrupted);
    Progress progress("updating", Progress::Unit::bytes, reader.parts().total_bytes(), job_.quiet);
    for (Document document; feed.next(document);) {
      if (job_.interrupted && job_.interrupted()) stop();
      guarded([&] { change_->put(document.id, document.text, document.metadata); });
      ++summary_.read;
      text_bytes_ += static_cast<std::int64_t>(document.text.size());
      if (summary_.read % job_.commit_every == 0 || text_bytes_ >= kBytesPerCommit) commit();
      progress.update(summary_.read, reader.parts().bytes_read());
    }
    summary_.index.report = reader.report();
    summary_.index.duplicates = feed.duplicates();
    summary_.index.duplicate_examples = feed.duplicate_examples();
    commit();
  }

  void commit() {
    guarded([&] { change_->commit(); });
    committed_ = summary_.read;
    text_bytes_ = 0;
  }

  [[noreturn]] void stop() {
    commit();
    change_.reset();  // not closed: that would wait for merges
    throw Error(ErrorKind::interrupted, job_.index.string(),
                fmt::format("interrupted; {} documents are updated and safe", with_commas(committed_)),
                "run the same command again to update the others");
  }

  template <typename Step>
  void guarded(Step&& step) {
    try {
      step();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
      const std::string remedy = error.remedy().empty() ? "" : error.remedy() + "; then ";
      throw Error(error.kind(), error.place(),
                  fmt::format("{} (the index is intact up to its last commit: {} documents are updated)",
                              error.problem(), with_commas(committed_)),
                  remedy + "run the same command again");
    }
  }

  void finish(const InputFiles& input) {
    summary_.index.documents = change_->counts().documents;
    summary_.index.totals = change_->totals();
    summary_.replaced = change_->counts().removed;
    summary_.added = change_->counts().unknown_ids;
    const ReadReport& report = summary_.index.report;
    const std::string name = input_name(input.files.front().path);
    if (report.malformed_share() > job_.max_malformed) {
      throw Error(ErrorKind::invalid_data, name,
                  fmt::format("{:.3g} % of the records are malformed: {} (the others are updated)",
                              100 * report.malformed_share(), report.malformed_summary()),
                  "fix the input and run the same command again, or accept them with --max-malformed PERCENT");
    }
    if (summary_.read == 0) {
      throw Error(ErrorKind::invalid_data, name, "contains no document of the corpus " + corpus_.id,
                  "check --input; expected " + corpus_.format);
    }
  }

  const IndexJob& job_;
  const Corpus& corpus_;
  std::optional<IndexChange> change_;
  std::int64_t text_bytes_ = 0, committed_ = 0;
  UpdateSummary summary_;
};

}  // namespace

UpdateSummary update_index(const IndexJob& job) { return UpdateRun(job).run(); }

DeleteSummary delete_documents(const std::filesystem::path& index, const std::vector<std::string>& ids) {
  require_index(index);
  IndexBuilder::Options options;
  options.only_removes = true;
  IndexChange change(index, options);
  for (const std::string& id : ids) change.remove(id);
  change.commit();
  const IndexChange::Counts counts = change.counts();
  change.close();
  return {counts.removed, counts.documents, counts.unknown_ids, counts.last.unknown, change.recovered()};
}

}  // namespace relucent::index_tools
