#include "index_tools/indexing/encode_index.h"

#include <IndexReader.h>
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "index_tools/indexing/progress.h"
#include "plugin/index_format/records/segment_records_writer.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/segment_identities.h"
#include "plugin/lucene/index/stored_fields.h"
#include "plugin/second_stage/model_text.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"
#include "relucent/stored_text.h"
#include "relucent/times.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

// A batch is what a kill can lose.
constexpr std::size_t kBatchDocuments = 256, kBatchBytes = std::size_t{4} << 20;

bool contains(const std::vector<SegmentIdentity>& segments, const SegmentIdentity& one) {
  return std::ranges::find(segments, one) != segments.end();
}

class Encoding {
 public:
  explicit Encoding(const EncodeJob& job)
      : job_(job),
        embeddings_(embeddings_of(*job.scorer)),
        form_{embeddings_->shape(), job.numbers, job.fields.fields_read()} {}

  EncodeSummary run() {
    const auto start = std::chrono::steady_clock::now();
    open_reader(job_.index)->close();  // reports best what a folder without an index lacks
    const RecordsLock lock(job_.index);
    // A commit during the work may bring new segments.
    while (encode_missing()) {
    }
    summary_.time = time_since(start);
    return std::move(summary_);
  }

 private:
  /// Encodes the newest commit. Returns whether any segment lacked its embeddings.
  bool encode_missing() {
    const Lucene::IndexReaderPtr reader = open_reader(job_.index);
    return with_errors(job_.index.string(), "encoding the documents", [&] {
      const IndexSegments index = index_segments(reader);
      std::vector<const IndexSegment*> missing;
      std::int64_t total = 0;
      for (const IndexSegment& segment : index.segments) {
        if (is_encoded(segment.identity)) continue;
        missing.push_back(&segment);
        total += segment.identity.documents;
      }
      if (missing.empty()) {
        finish(reader, index);
        reader->close();
        return false;
      }
      Progress progress("encoding", Progress::Unit::documents, total, job_.quiet);
      progress_ = &progress;
      done_ = 0;
      const StoredFields stored(reader);
      for (const IndexSegment* segment : missing) encode_segment(*segment, stored);
      reader->close();
      return true;
    });
  }

  /// Reads all of the file: what a search reports as damaged, this command repairs.
  bool is_encoded(const SegmentIdentity& segment) {
    if (contains(encoded_, segment) || contains(kept_, segment)) return true;
    std::error_code unknown;
    if (!fs::exists(records_file(job_.index, kEmbeddings, segment.name), unknown) && !unknown) return false;
    try {
      const auto records = SegmentRecords::open(job_.index, kEmbeddings, segment);
      if (records->header() != header_of(segment, form_)) return false;
      records->check_all(job_.stop);
      kept_.push_back(segment);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_data) throw;
      return false;  // to be replaced
    }
  }

  void finish(const Lucene::IndexReaderPtr& reader, const IndexSegments& index) {
    summary_.documents = reader->numDocs();
    summary_.segments = static_cast<std::int32_t>(index.segments.size());
    summary_.kept_segments = static_cast<std::int32_t>(std::ranges::count_if(
        index.segments, [&](const IndexSegment& segment) { return contains(kept_, segment.identity); }));
    for (const IndexSegment& segment : index.segments) {
      summary_.bytes +=
          static_cast<std::int64_t>(fs::file_size(records_file(job_.index, kEmbeddings, segment.identity.name)));
    }
    summary_.bytes_per_document = form_.bytes();
    if (form_.shape.rows == 0 && summary_.documents > 0) {
      summary_.bytes_per_document = static_cast<std::size_t>(summary_.bytes / summary_.documents);
    }
    summary_.removed = remove_other_records(job_.index, kEmbeddings, identities_of(index));
  }

  void encode_segment(const IndexSegment& segment, const StoredFields& stored) {
    SegmentRecordsWriter writer(job_.index, kEmbeddings, header_of(segment.identity, form_));
    summary_.resumed += writer.documents();
    done_ += writer.documents();
    while (writer.documents() < segment.identity.documents) {
      const std::int64_t before = writer.documents();
      try {
        encode_batch(segment, stored, writer);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) throw;
        throw Error(ErrorKind::interrupted, job_.index.string(),
                    fmt::format("interrupted; {} documents are encoded and safe",
                                with_commas(summary_.encoded + summary_.resumed)),
                    "run the same command again to continue");
      }
      done_ += writer.documents() - before;
      progress_->update(done_, done_);
    }
    writer.commit();
    encoded_.push_back(segment.identity);
  }

  void encode_batch(const IndexSegment& segment, const StoredFields& stored, SegmentRecordsWriter& writer) {
    std::vector<std::optional<std::string>> texts;  // nullopt: deleted
    std::size_t bytes = 0;
    for (std::uint32_t document = writer.documents();
         document < segment.identity.documents && texts.size() < kBatchDocuments && bytes < kBatchBytes; ++document) {
      texts.push_back(text_of(segment, static_cast<std::int32_t>(document), stored));
      if (texts.back()) bytes += texts.back()->size();
    }
    std::vector<std::string_view> views;
    for (const auto& text : texts) {
      if (text && !text->empty()) views.push_back(*text);
    }
    std::vector<std::vector<float>> embeddings;
    if (!views.empty()) embeddings = embeddings_->encode(views, job_.stop);
    auto next = embeddings.begin();
    std::string record;
    for (const auto& text : texts) {
      record.clear();
      if (text && !text->empty()) {
        store_embedding(form_, *next++, record);
      }
      if (text && text->empty()) ++summary_.without_text;
      writer.add(text ? std::optional<std::string_view>(record) : std::nullopt);
    }
    writer.flush();
    summary_.encoded += static_cast<std::int64_t>(views.size());
  }

  /// As the rescorer reads it; empty if there is none, nullopt if the document is deleted.
  std::optional<std::string> text_of(const IndexSegment& segment, std::int32_t document, const StoredFields& stored) {
    if (segment.reader->isDeleted(document)) return std::nullopt;
    std::vector<WantedField> wanted;
    for (const std::string& field : form_.fields) {
      wanted.push_back({to_lucene(field), WantedField::Values::all_texts});
    }
    auto values = stored.read(segment.first + document, wanted, job_.stop);
    return join_fields(values, job_.stop).text;
  }

  const EncodeJob& job_;
  const std::shared_ptr<const EmbeddingKind> embeddings_;
  const EmbeddingForm form_;
  EncodeSummary summary_;
  Progress* progress_ = nullptr;
  std::int64_t done_ = 0;
  std::vector<SegmentIdentity> encoded_, kept_;  // by this run, and found whole
};

}  // namespace

EncodeSummary encode_index(const EncodeJob& job) { return Encoding(job).run(); }

EmbeddingsCheck check_embeddings(const fs::path& index, bool quiet) {
  const Lucene::IndexReaderPtr reader = open_reader(index);
  return with_errors(index.string(), "checking the embeddings", [&] {
    EmbeddingsCheck check;
    const std::vector<SegmentIdentity> segments = identities_of(index_segments(reader));
    check.segments = static_cast<std::int32_t>(segments.size());
    check.left_over = other_records(index, kEmbeddings, segments);
    Progress progress("reading embeddings", Progress::Unit::documents, reader->maxDoc(), quiet);
    for (const SegmentIdentity& segment : segments) {
      if (!fs::exists(records_file(index, kEmbeddings, segment.name))) {
        check.missing.push_back(segment.name);
        continue;
      }
      try {
        const auto records = SegmentRecords::open(index, kEmbeddings, segment);
        const EmbeddingForm form = form_of(*records);
        records->check_all();
        check.documents += segment.documents;
        progress.update(0, check.documents);
        if (std::ranges::find(check.forms, form) == check.forms.end()) check.forms.push_back(form);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::invalid_data) throw;
        check.damaged.push_back(error.what());
      }
    }
    reader->close();
    return check;
  });
}

}  // namespace relucent::index_tools
