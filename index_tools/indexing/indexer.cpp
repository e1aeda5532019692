#include "index_tools/indexing/indexer.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "index_tools/corpora/corpus_reader.h"
#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/indexing/document_feed.h"
#include "index_tools/indexing/index_input.h"
#include "index_tools/indexing/manifest.h"
#include "index_tools/indexing/origin.h"
#include "index_tools/indexing/progress.h"
#include "relucent/error.h"
#include "relucent/index_files.h"
#include "relucent/times.h"

namespace relucent::index_tools {
namespace {

constexpr std::int64_t kCommitBytes = std::int64_t{1} << 30;

bool has_commit(const std::filesystem::path& index) {
  std::error_code failure;
  for (std::filesystem::directory_iterator i(index, failure), end; !failure && i != end; i.increment(failure)) {
    if (i->path().filename().string().starts_with("segments_")) return true;
  }
  return false;
}

bool has_documents(const std::filesystem::path& index) {
  try {
    return has_commit(index) && index_files(index).documents > 0;
  } catch (const Error&) {
    return false;  // damaged: nobody can search it
  }
}

IndexBuilder::Mode mode_of(const IndexJob& job) {
  if (job.start == IndexJob::Start::overwrite) return IndexBuilder::Mode::overwrite;
  if (job.start == IndexJob::Start::fresh || !has_commit(job.index)) return IndexBuilder::Mode::create;
  // A commit without documents comes from a run that stopped before it indexed any.
  return index_files(job.index).documents > 0 ? IndexBuilder::Mode::append : IndexBuilder::Mode::overwrite;
}

class IndexRun {
 public:
  explicit IndexRun(const IndexJob& job) : job_(job), corpus_(find_corpus(job.corpus)) {}

  IndexSummary run() {
    const auto started = std::chrono::steady_clock::now();
    open_input();
    open_index();
    if (!progress_record_.complete) {
      add_documents();
      finish();
    }
    builder_->close();
    const Manifest manifest = make_manifest(job_.index);
    write_manifest(job_.index, manifest);

    summary_.documents = progress_record_.documents;
    summary_.totals = builder_->totals();
    for (const auto& [name, entry] : manifest.files) summary_.index_bytes += entry.size;
    summary_.time = time_since(started);
    return std::move(summary_);
  }

 private:
  std::string place() const { return job_.index.string(); }

  void open_input() {
    input_ = find_input(job_, corpus_, summary_);
    progress_record_.corpus = corpus_.id;
    progress_record_.duplicates = job_.duplicates;
    progress_record_.names = job_.names;
    progress_record_.inputs = fingerprints_of(input_.files);
    progress_record_.fields = job_.fields;
    progress_record_.analyzer = analyzer_of(job_.fields, job_.first_stage);
  }

  // Another program's index is only destroyed if the user confirms with both flags.
  void protect_others() const {
    const Origin origin = origin_of(job_.index);
    if (job_.force || origin == Origin::none || origin == Origin::own) return;
    const bool overwrite = job_.start == IndexJob::Start::overwrite;
    throw Error(ErrorKind::usage, place(),
                origin == Origin::unknown
                    ? "the directory contains an index too damaged to tell whether `relucent index` wrote it"
                    : "the directory contains an index that `relucent index` did not write, or that another program "
                      "has changed",
                overwrite ? "choose another directory; adding --force destroys the index that is there"
                          : "choose another directory");
  }

  IndexBuilder::Mode open_builder() {
    try {
      const IndexBuilder::Mode mode = mode_of(job_);
      if (mode != IndexBuilder::Mode::append) protect_others();
      builder_ = IndexBuilder::open(job_.index, mode, builder_options(job_));
      return mode;
    } catch (const Error& error) {
      const Origin origin = error.kind() == ErrorKind::invalid_data ? origin_of(job_.index) : Origin::other;
      if (origin != Origin::own && origin != Origin::unknown) throw;
      throw Error(error.kind(), error.place(), error.problem(),
                  origin == Origin::own ? "restore it from a copy, or rebuild it with --overwrite"
                                        : "restore it from a copy; if `relucent index` wrote it, rebuild it with "
                                          "--overwrite --force");
    }
  }

  void open_index() {
    const bool replaced_documents = job_.start == IndexJob::Start::overwrite && has_documents(job_.index);
    const IndexBuilder::Mode mode = open_builder();
    if (mode == IndexBuilder::Mode::append) {
      summary_.recovered = builder_->recovered();
      const ProgressRecord before = progress_record_from(builder_->committed(), place());
      if (before.updated) {
        throw Error(ErrorKind::usage, place(), "has been updated since it was built, so there is nothing to resume",
                    "update it with --update, or replace it with --overwrite");
      }
      check_same_run(before, progress_record_, place(), job_.any_input);
      if (before.documents != builder_->totals().documents) {
        throw Error(
            ErrorKind::invalid_data, place(),
            fmt::format(
                "contains {} documents, not the {} that its progress record states: another program has changed it",
                builder_->totals().documents, before.documents),
            "index into another directory");
      }
      progress_record_.documents = summary_.resumed_from = before.documents;
      progress_record_.skipped_files = skipped_before_ = before.skipped_files;
      progress_record_.complete = before.complete && !job_.any_input;
      if (progress_record_.complete) return;
    }
    remove_manifest(job_.index);
    // So that the run can be resumed. An index that is replaced stays until there is something to search instead.
    replaces_ = mode == IndexBuilder::Mode::overwrite && job_.start == IndexJob::Start::overwrite && replaced_documents;
    if (mode != IndexBuilder::Mode::append && !replaces_) commit();
  }

  void add_documents() {
    CorpusReader reader(corpus_, input_.files, job_.names, job_.strict);
    DocumentFeed feed(reader, job_.duplicates, progress_record_.documents, job_.interrupted);
    Progress progress("indexing", Progress::Unit::bytes, reader.parts().total_bytes(), job_.quiet);
    for (Document document; feed.next(document);) {
      if (document.metadata.size() > IndexBuilder::kMaxMetadataBytes) leave_out_metadata(document, reader);
      check_skipped(feed);
      add_document(document, reader.report().skipped_files());
      progress.update(progress_record_.documents, reader.parts().bytes_read());
    }
    check_skipped(feed);
    if (feed.still_to_pass_over() > 0) {
      throw Error(ErrorKind::invalid_data, place(),
                  fmt::format("contains {} more documents than the input has now", feed.still_to_pass_over()),
                  "pass the same input as before, or rebuild the index with --overwrite");
    }
    summary_.report = reader.report();
    summary_.duplicates = feed.duplicates();
    summary_.duplicate_examples = feed.duplicate_examples();
  }

  /// A file that could not be read before, but can be now, would shift the documents that are passed over.
  void check_skipped(const DocumentFeed& feed) {
    const std::int64_t now = feed.skipped_while_passing_over();
    const std::int64_t before = std::exchange(skipped_before_, now);
    if (before == now || summary_.resumed_from == 0) return;
    throw Error(ErrorKind::usage, place(),
                fmt::format("{} files were skipped among the documents that are indexed, now {}: a converter was "
                            "installed, removed or slower",
                            before, now),
                "rebuild the index with --overwrite");
  }

  void add_document(const Document& document, std::int64_t skipped_files) {
    if (job_.interrupted && job_.interrupted()) stop();
    guarded([&] { builder_->add(document.id, document.text, document.metadata); });
    ++progress_record_.documents;
    progress_record_.skipped_files = skipped_files;
    text_bytes_ += static_cast<std::int64_t>(document.text.size());
    if (progress_record_.documents % job_.commit_every == 0 || text_bytes_ >= kCommitBytes) commit();
  }

  void leave_out_metadata(const Document& document, const CorpusReader& reader) {
    if (job_.strict) {
      throw Error(ErrorKind::invalid_data, reader.place_of(document),
                  fmt::format("the metadata of document \"{}\" has {} bytes, more than {}", document.id,
                              document.metadata.size(), IndexBuilder::kMaxMetadataBytes),
                  "shorten it, or index without --strict, which leaves it out");
    }
    constexpr std::size_t examples = 5;
    ++summary_.metadata_left_out;
    if (summary_.metadata_examples.size() < examples) {
      summary_.metadata_examples.push_back(fmt::format("{} ({})", document.id, reader.place_of(document)));
    }
  }

  [[noreturn]] void stop() {
    if (!replaces_ || committed_ || progress_record_.documents > 0) commit();
    builder_.reset();  // not closed: that would wait for merges
    throw Error(ErrorKind::interrupted, place(),
                fmt::format("interrupted; {} documents are indexed and safe", with_commas(progress_record_.documents)),
                "run the same command with --resume to continue");
  }

  void commit() {
    guarded([&] { builder_->commit(to_user_data(progress_record_)); });
    committed_ = progress_record_.documents;
    text_bytes_ = 0;
  }

  // Adds to an error of the index how many documents are safe and how to continue.
  template <typename Step>
  void guarded(Step&& step) {
    try {
      step();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
      std::string problem = error.problem();
      if (committed_)
        problem += fmt::format(" (the index is intact up to its last commit: {} documents)", with_commas(*committed_));
      std::string remedy = error.remedy();
      if (committed_) remedy += fmt::format("{}then run the same command with --resume", remedy.empty() ? "" : "; ");
      throw Error(error.kind(), error.place(), problem, remedy);
    }
  }

  void finish() {
    const ReadReport& report = summary_.report;
    if (report.malformed_share() > job_.max_malformed) {
      commit();
      builder_->close();
      throw Error(
          ErrorKind::invalid_data, input_name(input_.files.front().path),
          fmt::format("{:.3g} % of the records are malformed: {}", 100 * report.malformed_share(),
                      report.malformed_summary()),
          "fix the input and rebuild the index with --overwrite, or accept them with --resume --max-malformed PERCENT");
    }
    if (progress_record_.documents == 0) {
      throw Error(ErrorKind::invalid_data, input_name(input_.files.front().path),
                  "contains no document of the corpus " + corpus_.id, "check --input; expected " + corpus_.format);
    }
    progress_record_.complete = true;
    commit();
  }

  const IndexJob& job_;
  const Corpus& corpus_;
  InputFiles input_;
  ProgressRecord progress_record_;
  bool replaces_ = false;                  ///< an index with documents, which stays until the first commit
  std::optional<std::int64_t> committed_;  // documents at the last commit
  std::int64_t text_bytes_ = 0;            // added since
  std::int64_t skipped_before_ = 0;        // files, among the documents that are passed over
  std::unique_ptr<IndexBuilder> builder_;
  IndexSummary summary_;
};

}  // namespace

IndexSummary run_index(const IndexJob& job) { return IndexRun(job).run(); }

}  // namespace relucent::index_tools
