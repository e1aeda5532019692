#include "index_tools/indexing/graph_pass.h"

#include <LuceneHeaders.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/checksum.h"
#include "index_tools/indexing/document_notes.h"
#include "index_tools/indexing/ordered_jobs.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/indexing/query_log.h"
#include "plugin/index_format/records/segment_records_writer.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/graphs/check_graphs.h"
#include "plugin/lucene/graphs/index_statistics.h"
#include "plugin/lucene/index/segment_identities.h"
#include "plugin/lucene/index/stored_fields.h"
#include "plugin/second_stage/graph_maker.h"
#include "plugin/second_stage/graph_settings.h"
#include "plugin/second_stage/model_text.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"
#include "relucent/stored_text.h"
#include "relucent/threads.h"
#include "relucent/times.h"

namespace relucent::index_tools {
namespace {

/// Documents that a thread takes at a time.
constexpr std::int32_t kItemsPerPiece = 32;

std::size_t pieces_of(std::int64_t size) {
  return static_cast<std::size_t>((size + kItemsPerPiece - 1) / kItemsPerPiece);
}

/// The graphs of a run of documents.
struct MadeGraphs {
  std::vector<std::optional<std::string>> records;  // nullopt: deleted
  std::int64_t without_text = 0, with_weights = 0;
};

class GraphRun {
 public:
  GraphRun(const GraphJob& job, const StopSignal& stop)
      : job_(job), config_(job.config), stop_(stop), threads_(job.threads > 0 ? job.threads : available_cores()) {}

  GraphSummary run() {
    const auto started = std::chrono::steady_clock::now();
    const GraphForm form = load_graph_form(config_.rescorer.model);
    open_reader(job_.index, config_.index.verify)->close();  // reports best what a folder without an index lacks
    const RecordsLock lock(job_.index);
    reader_ = open_reader(job_.index, config_.index.verify);
    const IndexSegments index = index_segments(reader_);
    if (index.segments.empty() && reader_->maxDoc() > 0) {
      throw Error(ErrorKind::unsupported, job_.index.string(), "is not made of Lucene++ segments",
                  "merge it with the program that wrote it");
    }
    config_ = config_of_index(reader_, config_);
    summary_.documents = reader_->maxDoc();
    statistics_ = std::make_shared<const IndexStatistics>(reader_, config_.index, config_.first_stage);
    maker_.emplace(form, statistics_);
    read_notes();
    state_origin(form);
    find_missing(index);
    if (!missing_.empty()) {
      if (job_.notes.weights == GraphNotesJob::Weights::query_log) {
        log_ = search_query_log(job_.notes, reader_, config_, job_.index.string(), threads_, job_.quiet, stop_);
      }
      make_missing();
    }
    const std::vector<SegmentIdentity> segments = identities_of(index);
    summary_.removed = remove_other_records(job_.index, kGraphRecords, segments);
    for (const SegmentIdentity& segment : segments) {
      summary_.bytes +=
          static_cast<std::int64_t>(std::filesystem::file_size(records_file(job_.index, kGraphRecords, segment.name)));
    }
    summary_.time = time_since(started);
    return std::move(summary_);
  }

 private:
  void read_notes() {
    if (job_.notes.weights == GraphNotesJob::Weights::file) weights_.emplace(job_.notes.weights_file, stop_);
    if (!job_.notes.entities_file.empty()) entities_.emplace(job_.notes.entities_file, stop_);
  }

  /// What every record follows from besides its document.
  void state_origin(const GraphForm& form) {
    origin_ = graph_origin(form, config_.index, config_.first_stage);
    std::string weights = job_.notes.origins().weights;
    if (weights_) weights += " " + to_hex(weights_->checksum());
    if (job_.notes.weights == GraphNotesJob::Weights::query_log) {
      Checksum sum;
      for (const std::string& query : job_.notes.log_queries) sum.add(query + "\n");
      weights += fmt::format(" {}, {} hits, k1 {}, b {}", to_hex(sum.value()), job_.notes.log_hits,
                             config_.first_stage.k1, config_.first_stage.b);
    }
    origin_.emplace_back("weights", weights);
    origin_.emplace_back("entities", entities_ ? to_hex(entities_->checksum()) : "none");
    Progress progress("reading the dictionary", Progress::Unit::documents, 0, job_.quiet);
    statistics_origin_ = {
        {"documents", std::to_string(statistics_->documents())},
        {"terms", to_hex(statistics_->hash(stop_, [&](std::int64_t terms) { progress.update(0, terms); }))}};
  }

  /// Why a segment needs a new file; nothing if the one that it has is good.
  std::optional<std::string> problem_of(const IndexSegment& segment) {
    const std::filesystem::path file = records_file(job_.index, kGraphRecords, segment.identity.name);
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown)) return "";
    try {
      const auto records = SegmentRecords::open(job_.index, kGraphRecords, segment.identity);
      const GraphOrigin found = from_settings(records->header().settings);
      if (const auto other = difference(origin_, found)) return *other;
      const auto other_statistics = difference(statistics_origin_, found);
      if (other_statistics && job_.rebuild) return *other_statistics;
      check_graphs_of(*records, stop_);
      if (other_statistics) ++summary_.earlier_statistics;
      return std::nullopt;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_data) throw;
      return error.problem();
    }
  }

  void find_missing(const IndexSegments& index) {
    for (const IndexSegment& segment : index.segments) {
      stop_.throw_if_due("checking the graphs");
      const auto problem = problem_of(segment);
      if (!problem) {
        summary_.kept += segment.identity.documents;
        continue;
      }
      if (!problem->empty()) {
        summary_.replaced.push_back(
            fmt::format("{}: {}", records_file({}, kGraphRecords, segment.identity.name).string(), *problem));
      }
      missing_.push_back(&segment);
      to_make_ += segment.identity.documents;
    }
  }

  void make_missing() {
    Progress progress("making graphs", Progress::Unit::documents, to_make_, job_.quiet);
    std::int64_t done = 0;
    for (const IndexSegment* segment : missing_) make(*segment, progress, done);
  }

  void make(const IndexSegment& segment, Progress& progress, std::int64_t& done) {
    RecordsHeader header;
    header.segment = segment.identity;
    GraphOrigin origin = origin_;
    origin.insert(origin.end(), statistics_origin_.begin(), statistics_origin_.end());
    header.settings = to_settings(origin);
    header.fingerprint = checksum(header.settings);
    SegmentRecordsWriter writer(job_.index, kGraphRecords, header);
    summary_.continued += writer.documents();
    done += writer.documents();
    const auto begin = static_cast<std::int32_t>(writer.documents());
    const auto end = static_cast<std::int32_t>(segment.identity.documents);
    const std::size_t pieces = pieces_of(end - begin);
    OrderedJobs<MadeGraphs> jobs(pieces, threads_, [&](std::size_t piece) {
      const std::int32_t first = begin + static_cast<std::int32_t>(piece) * kItemsPerPiece;
      return make_run(segment, first, std::min(first + kItemsPerPiece, end));
    });
    try {
      for (std::size_t piece = 0; piece < pieces; ++piece) {
        const MadeGraphs made = jobs.next([&] { stop_.throw_if_due("making graphs"); });
        for (const auto& record : made.records) writer.add(record);
        writer.flush();
        summary_.without_text += made.without_text;
        summary_.with_weights += made.with_weights;
        summary_.made += static_cast<std::int64_t>(made.records.size());
        done += static_cast<std::int64_t>(made.records.size());
        progress.update(done, done);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;
      throw Error(error.kind(), job_.index.string(),
                  fmt::format("interrupted; the graphs of {} documents are safe", with_commas(summary_.kept + done)),
                  "run the same command again to continue");
    }
    writer.commit();
  }

  /// Makes those of the documents [begin, end) of a segment. Thread-safe.
  MadeGraphs make_run(const IndexSegment& segment, std::int32_t begin, std::int32_t end) const {
    return with_errors(job_.index.string(), "making graphs", [&] {
      MadeGraphs made;
      const StoredFields stored(reader_);
      std::vector<WantedField> wanted = {{to_lucene(config_.index.id_field), WantedField::Values::first_text}};
      for (const std::string& field : config_.index.fields_read()) {
        wanted.push_back({to_lucene(field), WantedField::Values::all_texts});
      }
      for (std::int32_t i = begin; i < end; ++i) {
        stop_.throw_if_due("making graphs");
        auto& record = made.records.emplace_back();
        if (segment.reader->isDeleted(i)) continue;
        const std::int32_t document = segment.first + i;
        auto values = stored.read(document, wanted, stop_);
        const std::string text = join_fields(std::span(values).subspan(1), stop_).text;
        if (text.empty()) ++made.without_text;
        const std::string id = values.front().value_or("");
        const std::optional<TermWeights> weights = weights_of(document, id);
        if (weights) ++made.with_weights;
        const std::vector<EntityPlace> entities = entities_ ? entities_->of(id) : std::vector<EntityPlace>();
        record = maker_->make(text, stop_, weights ? &*weights : nullptr, entities);
      }
      return made;
    });
  }

  /// Nothing: tf * idf.
  std::optional<TermWeights> weights_of(std::int32_t document, const std::string& id) const {
    if (weights_) return weights_->of(id);
    if (log_.queries(document) > 0) return log_.weights(document);
    return std::nullopt;
  }

  const GraphJob& job_;
  Config config_;  ///< of the job; once the index is open, with its analyzer
  const StopSignal& stop_;
  int threads_;
  Lucene::IndexReaderPtr reader_;
  std::shared_ptr<const IndexStatistics> statistics_;
  std::optional<GraphMaker> maker_;
  std::optional<WeightNotes> weights_;
  std::optional<EntityNotes> entities_;
  QueryLogWeights log_;
  GraphOrigin origin_, statistics_origin_;
  std::vector<const IndexSegment*> missing_;
  std::int64_t to_make_ = 0;
  GraphSummary summary_;
};

}  // namespace

GraphSummary make_graphs(const GraphJob& job, const StopSignal& stop) {
  return with_errors(job.index.string(), "making graphs", [&] { return GraphRun(job, stop).run(); });
}

}  // namespace relucent::index_tools
