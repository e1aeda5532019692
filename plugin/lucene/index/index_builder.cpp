#include "relucent/index_builder.h"

#include <IndexReader.h>
#include <IndexWriter.h>
#include <SerialMergeScheduler.h>
#include <fmt/core.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checksum.h"
#include "base/own_process.h"
#include "base/text.h"
#include "plugin/index_format/fields/declared_fields.h"
#include "plugin/index_format/segment/segment_pipeline.h"
#include "plugin/index_format/segments_file.h"
#include "plugin/lucene/analysis/analyzer_terms.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/field_lengths.h"
#include "plugin/lucene/index/file_directory.h"
#include "plugin/lucene/index/removed_documents.h"
#include "plugin/lucene/index/segment_list.h"
#include "relucent/english_analyzer.h"
#include "relucent/index_files.h"
#include "relucent/model/tokenizer.h"
#include "relucent/stored_text.h"
#include "relucent/threads.h"

namespace relucent {
namespace {

constexpr double kMegabyte = 1 << 20;

void need_free_space(const std::filesystem::path& folder, double megabytes) {
  struct statvfs system;
  if (statvfs(folder.c_str(), &system) != 0) return;
  const double free = static_cast<double>(system.f_bavail) * static_cast<double>(system.f_frsize) / kMegabyte;
  if (free >= megabytes) return;
  throw Error(ErrorKind::io, folder.string(),
              fmt::format("the disk is full: {:.1f} MB needed, {:.1f} MB free", megabytes, free),
              "free some space; committed documents are safe");
}

/// An index without documents: the remains of a run that ended before its first document.
bool has_no_document(const std::filesystem::path& folder) {
  try {
    const IndexFiles files = index_files(folder);
    return files.documents == 0 && files.damage.empty();
  } catch (const Error&) {
    return false;  // damaged, but an index: the owner decides
  }
}

class Builder final : public IndexBuilder {
 public:
  Builder(std::filesystem::path folder, Mode mode, const Options& options);

  void add(std::string_view id, std::string_view text, std::string_view metadata) override;
  void remove(std::string_view id) override;
  Removals removals() const override { return removals_; }
  void commit(const std::map<std::string, std::string>& user_data) override;
  std::map<std::string, std::string> committed() const override { return last_commit_.user; }
  Totals totals() const override { return last_commit_.totals; }
  std::string recovered() const override { return recovered_; }
  void merge(int segments) override;
  void close() override;

 private:
  void load_tokenizer();
  void read_last_commit();
  void check_token_ids(const CommitData& data) const;
  void take_declared_fields(const CommitData& data);
  void adopt_settings(const CommitData& data);
  void start_pipeline();
  void apply_removals();
  void merge_by_lucene(int segments);
  void recount();
  FieldStatistics recount(const std::vector<Lucene::IndexReaderPtr>& leaves, const std::string& name,
                          bool may_lack) const;
  void verify_last_document() const;
  void usable(const char* operation) const;
  /// Runs a step of the writer; after a failure only committed documents count.
  template <typename Step>
  void guarded(const char* operation, Step&& step) {
    usable(operation);
    try {
      with_errors(folder_.string(), operation, std::forward<Step>(step));
    } catch (...) {
      broken_ = true;
      throw;
    }
  }

  std::filesystem::path folder_;
  Options options_;
  TokenIdEncoder token_ids_;
  // A forked process neither waits for the threads nor releases the lock.
  OwnedByProcess<SegmentList> list_;
  OwnedByProcess<segment::SegmentPipeline> pipeline_;
  CommitData last_commit_;
  std::string recovered_;
  Totals before_;  ///< in the index when the pipeline began
  std::vector<FieldStatistics> analyzed_before_;
  std::int64_t added_ = 0;
  bool changed_ = false;  ///< there is something to commit
  bool broken_ = false;
  std::string last_id_, last_text_;  ///< added last, unless removed again
  RemovedDocuments removed_;         ///< in the next commit
  Removals removals_;
  std::vector<fields::DeclaredField> declared_;
};

Builder::Builder(std::filesystem::path folder, Mode mode, const Options& options)
    : folder_(std::move(folder)), options_(options) {
  options_.first_stage.analyzer = analyzer_of(options_.fields, options_.first_stage);
  to_lucene_folder(folder_);  // check first, or Lucene++ would create a folder with another name next to it
  if (options_.threads < 0 || options_.threads > kMaxThreads) {
    throw Error(ErrorKind::usage, "threads", fmt::format("{} is out of range", options_.threads),
                fmt::format("give 1 to {}, or 0 for one per core", kMaxThreads));
  }
  const IndexConfig& names = options_.fields;
  if (!names.keyword_fields.empty() || !names.number_fields.empty() || !names.analyzed_fields.empty()) {
    options_.metadata = true;
  }
  load_tokenizer();
  const std::string place = folder_.string();
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    throw Error(ErrorKind::io, place, "the index directory cannot be created: " + error.message(),
                "check the name and the permissions");
  }
  need_free_space(folder_, 1);
  with_errors(place, "opening the index for writing", [&] {
    const bool exists = !segments_files(folder_).empty();
    if (exists && mode == Mode::create && !has_no_document(folder_)) {
      throw Error(ErrorKind::usage, place, "the directory already holds an index",
                  "continue it (--resume), replace it (--overwrite), or use another directory");
    }
    if (!exists && mode == Mode::append) {
      throw Error(ErrorKind::usage, place, "the directory holds no index to continue",
                  "create a new one (without --resume)");
    }
    list_ = std::make_unique<SegmentList>(
        folder_, mode == Mode::append ? SegmentList::Start::last_commit : SegmentList::Start::nothing);
    if (mode == Mode::append) {
      read_last_commit();
    } else {
      last_commit_.fields = options_.fields;
      last_commit_.analyzer = options_.first_stage.analyzer;
      last_commit_.tokenizer = token_ids_.tokenizer ? token_ids_.tokenizer->fingerprint() : 0;
      last_commit_.max_token_ids = token_ids_.most;
      last_commit_.metadata = options_.metadata;
      last_commit_.analyzed.resize(options_.fields.analyzed_fields.size());
      changed_ = true;
    }
    start_pipeline();
  });
}

void Builder::load_tokenizer() {
  if (options_.token_ids_of.empty()) return;
  auto [tokenizer, most] = load_checkpoint_tokenizer(options_.token_ids_of);
  token_ids_ = {std::move(tokenizer), most};
}

/// Either all documents have token ids of the same tokenizer, or none has any.
void Builder::check_token_ids(const CommitData& data) const {
  const std::uint64_t wanted = token_ids_.tokenizer ? token_ids_.tokenizer->fingerprint() : 0;
  if (data.tokenizer == wanted && data.max_token_ids == token_ids_.most) return;
  const auto described = [](std::uint64_t tokenizer, std::int32_t most) {
    return tokenizer == 0
               ? std::string("no token ids")
               : fmt::format("at most {} token ids per document by the tokenizer {}", most, to_hex(tokenizer));
  };
  throw Error(ErrorKind::usage, folder_.string(),
              fmt::format("the index has {}, not {}", described(data.tokenizer, data.max_token_ids),
                          described(wanted, token_ids_.most)),
              "use the token id settings (--token-ids) with which it was built");
}

void Builder::read_last_commit() {
  const std::string place = folder_.string();
  const auto data = from_user_data(list_->user_data(), place);
  if (!data) {
    throw Error(ErrorKind::invalid_data, place, "the index was not built by Relucent, so it cannot be continued",
                "build a new index in another directory");
  }
  if (options_.only_removes) adopt_settings(*data);
  const auto& fields = data->fields;
  if (fields.id_field != options_.fields.id_field || fields.text_field != options_.fields.text_field ||
      fields.contents_field != options_.fields.contents_field || data->analyzer != options_.first_stage.analyzer) {
    throw Error(ErrorKind::usage, place,
                fmt::format("the index has the fields {}, {}, {} and the analyzer {}, not {}, {}, {} and {}",
                            fields.id_field, fields.text_field, fields.contents_field, to_string(data->analyzer),
                            options_.fields.id_field, options_.fields.text_field, options_.fields.contents_field,
                            to_string(options_.first_stage.analyzer)),
                "use the language (--language), the [index] and [first_stage] settings with which it was built");
  }
  if (!options_.only_removes) check_token_ids(*data);
  take_declared_fields(*data);
  last_commit_ = *data;
  last_commit_.metadata = options_.metadata;
  last_commit_.totals.deleted = list_->deleted();
  recovered_ = list_->dropped();
  if (list_->identity() != data->segments) recount();
}

/// An index keeps the declared fields with which it was created: older documents would lack other ones.
void Builder::take_declared_fields(const CommitData& data) {
  const auto same = [](std::vector<std::string> a, std::vector<std::string> b) {
    std::ranges::sort(a);
    std::ranges::sort(b);
    return a == b;
  };
  const IndexConfig &before = data.fields, &now = options_.fields;
  const bool none = now.keyword_fields.empty() && now.number_fields.empty() && now.analyzed_fields.empty();
  if (!none && (!same(before.keyword_fields, now.keyword_fields) || !same(before.number_fields, now.number_fields) ||
                !same(before.analyzed_fields, now.analyzed_fields))) {
    const auto described = [](const IndexConfig& fields) {
      return fmt::format("the keyword fields ({}), number fields ({}) and text fields ({})",
                         join(fields.keyword_fields), join(fields.number_fields), join(fields.analyzed_fields));
    };
    throw Error(ErrorKind::usage, folder_.string(),
                fmt::format("the index has {}, not {}", described(before), described(now)),
                "declare the fields (--keyword, --number, --text) with which it was built, or none, or build it again");
  }
  options_.fields.keyword_fields = before.keyword_fields;
  options_.fields.number_fields = before.number_fields;
  options_.fields.analyzed_fields = before.analyzed_fields;
  options_.metadata = options_.metadata || data.metadata;
}

void Builder::adopt_settings(const CommitData& data) {
  options_.fields.id_field = data.fields.id_field;
  options_.fields.text_field = data.fields.text_field;
  options_.fields.contents_field = data.fields.contents_field;
  options_.first_stage.analyzer = data.analyzer;
}

void Builder::start_pipeline() {
  const IndexConfig& names = options_.fields;
  const FirstStageConfig& first_stage = options_.first_stage;
  const double buffer_mb = options_.buffer_mb;
  const int threads = options_.threads;
  declared_ = fields::declared_fields(names.keyword_fields, names.number_fields, names.analyzed_fields);
  segment::SegmentPipeline::Options settings{
      folder_,
      segment::Fields(names.id_field, names.text_field, names.contents_field, last_commit_.tokenizer != 0,
                      {options_.metadata, declared_}),
      threads > 0 ? threads : available_cores(),
      static_cast<std::size_t>(std::max(buffer_mb, 1.0) * kMegabyte),
      [first_stage = first_stage] { return make_term_source(first_stage); },
      token_ids_};
  pipeline_ = std::make_unique<segment::SegmentPipeline>(std::move(settings), list_->segments(), list_->next_number());
  before_ = last_commit_.totals;
  analyzed_before_ = last_commit_.analyzed;
  added_ = 0;
  removed_.begin();
}

/// Counts from the postings, for an index that another program has merged or added to; its length bytes must be ours.
void Builder::recount() {
  const auto reader = Lucene::IndexReader::open(list_->directory(), true);
  const auto leaves = bm25::leaf_readers(reader);
  try {
    const FieldStatistics contents = recount(leaves, options_.fields.contents_field, false);
    last_commit_.totals = {reader->maxDoc(), reader->numDeletedDocs(), contents.document_count,
                           contents.sum_total_term_freq};
    for (std::size_t i = 0; i < last_commit_.analyzed.size(); ++i) {
      last_commit_.analyzed[i] = recount(leaves, last_commit_.fields.analyzed_fields[i], true);
    }
  } catch (...) {
    reader->close();
    throw;
  }
  reader->close();
}

/// @param may_lack  whether documents may lack the field, for which other programs write other bytes
FieldStatistics Builder::recount(const std::vector<Lucene::IndexReaderPtr>& leaves, const std::string& name,
                                 bool may_lack) const {
  const Lucene::String field = to_lucene(name);
  const auto lengths = bm25::count_lengths(leaves, field);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Lucene::ByteArray norms = leaves[i]->norms(field);
    const auto& bytes = lengths.leaves[i];
    if (bytes.empty()) continue;
    const auto same = [may_lack](std::uint8_t counted, std::uint8_t recorded) {
      return counted == recorded || (may_lack && counted == 0);
    };
    if (!norms || !std::equal(bytes.begin(), bytes.end(), norms.get(), same)) {
      throw Error(ErrorKind::invalid_data, folder_.string(),
                  "another program has added documents with different norms to the index",
                  "continue it with that program, or rebuild it in another directory");
    }
  }
  return lengths.statistics;
}

void Builder::usable(const char* operation) const {
  if (!list_) throw Error(ErrorKind::usage, folder_.string(), fmt::format("{} after close()", operation));
  if (broken_) {
    throw Error(ErrorKind::io, folder_.string(), fmt::format("{}: an earlier step failed", operation),
                "reopen the index and continue after the last commit");
  }
}

void Builder::add(std::string_view id, std::string_view text, std::string_view metadata) {
  usable("adding a document");
  if (options_.only_removes) {
    throw Error(ErrorKind::usage, folder_.string(), "the builder was opened to remove documents",
                "open it without only_removes");
  }
  if (!metadata.empty() && !options_.metadata) {
    throw Error(ErrorKind::usage, fmt::format("document \"{}\"", id.substr(0, 100)),
                "has metadata, but the index was opened for documents without", "set IndexBuilder::Options::metadata");
  }
  const std::vector<fields::FieldValue> values = fields::values_of(declared_, metadata, id);
  guarded("adding a document", [&] {
    constexpr std::size_t max_length = 0x3FFFFFFF;
    if (text.size() > max_length || id.size() > max_length) {
      throw Error(ErrorKind::invalid_data, fmt::format("document \"{}\"", id.substr(0, 100)),
                  "its text is longer than 1 GiB", "split the document");
    }
    if (before_.documents + added_ == std::numeric_limits<std::int32_t>::max()) {
      throw Error(ErrorKind::unsupported, folder_.string(), "an index holds at most 2,147,483,647 documents",
                  "build several indexes");
    }
    changed_ = true;
    pipeline_->add(id, text, metadata.size() > kMaxMetadataBytes ? std::string_view() : metadata, values);
    last_id_ = id;
    last_text_ = text;
    ++added_;
    removed_.count_added();
  });
}

void Builder::remove(std::string_view id) {
  usable("removing a document");
  check_removable(id, list_->segments(), folder_);
  changed_ = true;
  const std::string stored = to_utf8(to_lucene(id));
  if (stored == to_utf8(to_lucene(last_id_))) last_id_ = last_text_ = {};
  removed_.add(stored);
}

void Builder::apply_removals() {
  removals_ = {};
  if (removed_.empty()) {
    removed_.begin();
    return;
  }
  const auto open = [this](const segment::Segment& segment) { return list_->open_terms(segment); };
  pipeline_->change_deletions([&](const std::vector<segment::Segment*>& segments) {
    removals_ = removed_.apply(segments, options_.fields.id_field, open);
  });
  removed_.begin();
}

void Builder::commit(const std::map<std::string, std::string>& user_data) {
  guarded("committing", [&] {
    need_free_space(folder_, 1);
    pipeline_->flush();
    apply_removals();
    list_->set_segments(pipeline_->segments_to_commit(), pipeline_->next_number());
    CommitData data = last_commit_;
    data.user = user_data;
    data.segments = list_->identity();
    const segment::Dropped& dropped = pipeline_->dropped();
    const std::vector<FieldStatistics> written = pipeline_->counts();
    const auto now = [&](std::size_t field, std::int64_t documents_before, std::int64_t tokens_before) {
      return FieldStatistics{
          documents_before + written[field].document_count - dropped.counts[field].document_count,
          tokens_before + written[field].sum_total_term_freq - dropped.counts[field].sum_total_term_freq};
    };
    const FieldStatistics contents = now(0, before_.documents_with_tokens, before_.tokens);
    data.totals = {before_.documents + added_ - dropped.documents, list_->deleted(), contents.document_count,
                   contents.sum_total_term_freq};
    for (std::size_t i = 0; i < data.analyzed.size(); ++i) {
      const FieldStatistics& before = analyzed_before_[i];
      data.analyzed[i] = now(i + 1, before.document_count, before.sum_total_term_freq);
    }
    list_->commit(to_user_data(data));
    pipeline_->keep_only(list_->kept_segments());
    last_commit_ = std::move(data);
    changed_ = false;
    verify_last_document();
  });
}

/// Reads the last document of each commit back with Lucene++.
void Builder::verify_last_document() const {
  if (last_id_.empty() && last_text_.empty()) return;
  const auto document = list_->read_last_document();
  if (!document || first_stored_text(document, options_.fields.id_field) != to_utf8(to_lucene(last_id_)) ||
      stored_text(document, options_.fields.text_field).value_or("") != well_formed_utf8(last_text_)) {
    throw Error(ErrorKind::io, folder_.string(), fmt::format("document \"{}\" differs when read back", last_id_),
                "check the disk and rebuild the index");
  }
}

void Builder::merge(int segments) {
  guarded("merging segments", [&] {
    if (segments < 1)
      throw Error(ErrorKind::usage, folder_.string(), fmt::format("cannot merge to {} segments", segments),
                  "merge to at least one");
    const bool merged = pipeline_->merge_to(static_cast<std::size_t>(segments));
    commit(last_commit_.user);
    if (!merged) merge_by_lucene(segments);
  });
}

/// For segments that another program wrote or deleted documents from.
void Builder::merge_by_lucene(int segments) {
  pipeline_.reset();
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(list_->directory(), make_analyzer(options_.first_stage),
                                                             false, Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setMergeScheduler(Lucene::newLucene<Lucene::SerialMergeScheduler>());
  writer->optimize(segments, true);
  writer->close();
  list_->read_again();
  recount();  // deleted documents are gone
  start_pipeline();
  commit(last_commit_.user);
}

void Builder::close() {
  if (!list_) return;
  if (changed_) commit(last_commit_.user);
  guarded("closing the index", [&] {
    pipeline_->finish_merges();
    list_->set_segments(pipeline_->segments_to_commit(), pipeline_->next_number());
    if (list_->identity() != last_commit_.segments) commit(last_commit_.user);
    pipeline_.reset();
    list_->close();
  });
  list_.reset();
}

}  // namespace

std::unique_ptr<IndexBuilder> IndexBuilder::open(const std::filesystem::path& folder, Mode mode,
                                                 const Options& options) {
  return std::make_unique<Builder>(folder, mode, options);
}

}  // namespace relucent
