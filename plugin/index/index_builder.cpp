#include "relucent/index_builder.h"

#include <FSDirectory.h>
#include <LuceneHeaders.h>
#include <SerialMergeScheduler.h>

#include <sys/statvfs.h>

#include <cstring>

#include "analysis/chain_token_stream.h"
#include "bm25/field_lengths.h"
#include "index/commit_data.h"
#include "index/segments_file.h"
#include "index/write_lock.h"
#include "index/writer.h"
#include "lucene_errors.h"
#include "relucent/english_analyzer.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

constexpr double kMegabyte = 1 << 20;

void need_free_space(const std::filesystem::path& folder, double megabytes) {
  struct statvfs system;
  if (statvfs(folder.c_str(), &system) != 0) return;
  const double free = static_cast<double>(system.f_bavail) * static_cast<double>(system.f_frsize) / kMegabyte;
  if (free >= megabytes) return;
  char problem[160];
  std::snprintf(problem, sizeof problem, "the disk is full: %.1f MB are needed, %.1f MB are free", megabytes, free);
  throw Error(ErrorKind::io, folder.string(), problem, "free some space; what was committed before is safe");
}

/// An index without a document: what is left of a run that ended before its first commit.
bool is_empty(const Lucene::FSDirectoryPtr& directory) {
  try {
    check_segments_file(to_utf8(directory->getFile()));
    const auto reader = Lucene::IndexReader::open(directory, true);
    const bool empty = reader->maxDoc() == 0;
    reader->close();
    return empty;
  } catch (const Error&) {
    return false;  // damaged, but an index: its owner decides
  } catch (const Lucene::LuceneException&) {
    return false;
  }
}

class Builder final : public IndexBuilder {
 public:
  Builder(std::filesystem::path folder, Mode mode, const Options& options);
  ~Builder() override;

  void add(std::string_view id, std::string_view text) override;
  void commit(const std::map<std::string, std::string>& user_data) override;
  std::map<std::string, std::string> committed() const override { return last_commit_.user; }
  Totals totals() const override { return last_commit_.totals; }
  void merge(int segments) override;
  void close() override;

 private:
  void open_writer(bool create);
  void read_last_commit();
  void make_document();
  Totals count_again();
  void verify_last_document();
  void usable(const char* doing) const;
  /// Runs a step of the writer; after a failure only what was committed before counts.
  template <typename Step>
  void guarded(const char* doing, Step&& step) {
    usable(doing);
    try {
      with_errors(folder_.string(), doing, std::forward<Step>(step));
    } catch (...) {
      broken_ = true;
      throw;
    }
  }

  std::filesystem::path folder_;
  Options options_;
  boost::shared_ptr<Writer> writer_;
  boost::shared_ptr<CountingSimilarity> similarity_;
  CommitData last_commit_;
  Totals running_;        ///< with what was added since the last commit
  bool changed_ = false;  ///< something to commit
  bool broken_ = false;

  // One document, filled anew for each add().
  Lucene::DocumentPtr document_;
  Lucene::FieldPtr id_field_, text_field_, contents_field_;
  boost::shared_ptr<ChainTokenStream> stream_;  ///< null for another analyzer
  std::string last_id_, last_text_;
};

Builder::Builder(std::filesystem::path folder, Mode mode, const Options& options)
    : folder_(std::move(folder)), options_(options) {
  prepare_file_names();
  const std::string place = folder_.string();
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    throw Error(ErrorKind::io, place, "the index folder cannot be made: " + error.message(),
                "check the name and the permissions");
  }
  need_free_space(folder_, 1);
  with_errors(place, "opening the index for writing", [&] {
    const auto directory = Lucene::FSDirectory::open(to_lucene(place));
    const bool exists = Lucene::IndexReader::indexExists(directory);
    if (exists && mode == Mode::create && !is_empty(directory)) {
      throw Error(ErrorKind::usage, place, "the folder holds an index already",
                  "continue it (--resume), replace it (--overwrite), or name another folder");
    }
    if (!exists && mode == Mode::append) {
      throw Error(ErrorKind::usage, place, "the folder holds no index to continue", "make a new one (without --resume)");
    }
    if (mode == Mode::append) check_segments_file(folder_);
    open_writer(mode != Mode::append);
    if (mode == Mode::append) {
      read_last_commit();
    } else {
      last_commit_.fields = options_.fields;
      last_commit_.analyzer = options_.first_stage.analyzer;
      changed_ = true;
    }
    make_document();
  });
}

Builder::~Builder() {
  if (!writer_) return;
  try {
    writer_->rollback();
  } catch (...) {
    // The last commit on the disk is what counts; the lock goes with the process or the next line.
  }
  writer_.reset();
}

void Builder::open_writer(bool create) {
  const auto directory = Lucene::FSDirectory::open(to_lucene(folder_.string()),
                                                   Lucene::newLucene<WriteLockFactory>(folder_));
  const auto analyzer = make_analyzer(options_.first_stage);
  writer_ = Lucene::newLucene<Writer>(directory, analyzer, create);
  writer_->setMergeScheduler(Lucene::newLucene<Lucene::SerialMergeScheduler>());
  writer_->setRAMBufferSizeMB(options_.buffer_mb);
  similarity_ = Lucene::newLucene<CountingSimilarity>(to_lucene(options_.fields.contents_field));
  writer_->setSimilarity(similarity_);
}

void Builder::read_last_commit() {
  const std::string place = folder_.string();
  const auto data = from_user_data(Lucene::IndexReader::getCommitUserData(writer_->getDirectory()), place);
  if (!data) {
    throw Error(ErrorKind::invalid_data, place, "the index was not made by Relucent, so it cannot be continued",
                "make a new index in another folder");
  }
  const auto& fields = data->fields;
  if (fields.id_field != options_.fields.id_field || fields.text_field != options_.fields.text_field ||
      fields.contents_field != options_.fields.contents_field || data->analyzer != options_.first_stage.analyzer) {
    throw Error(ErrorKind::usage, place,
                "the index has the fields " + fields.id_field + ", " + fields.text_field + ", " + fields.contents_field +
                    " and the analyzer " + data->analyzer + ", not what is configured now",
                "use the same [index] and [first_stage] settings as when it was made");
  }
  last_commit_ = *data;
  if (writer_->identity() != data->segments) last_commit_.totals = count_again();
  running_ = last_commit_.totals;
}

/// For an index that another program has merged or added to: the counts from the postings, if the length bytes are ours.
IndexBuilder::Totals Builder::count_again() {
  const auto reader = writer_->getReader();
  const auto leaves = bm25::leaf_readers(reader);
  const Lucene::String field = to_lucene(options_.fields.contents_field);
  const auto lengths = bm25::count_lengths(leaves, field);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Lucene::ByteArray norms = leaves[i]->norms(field);
    const auto& bytes = lengths.leaves[i];
    if (bytes.empty()) continue;
    if (!norms || std::memcmp(norms.get(), bytes.data(), bytes.size()) != 0) {
      reader->close();
      throw Error(ErrorKind::invalid_data, folder_.string(), "another program has added documents of its own kind to the index",
                  "make the index again");
    }
  }
  const Totals totals{reader->maxDoc(), lengths.statistics.document_count, lengths.statistics.sum_total_term_freq};
  reader->close();
  return totals;
}

void Builder::make_document() {
  using Lucene::AbstractField;
  const auto& fields = options_.fields;
  document_ = Lucene::newLucene<Lucene::Document>();
  id_field_ = Lucene::newLucene<Lucene::Field>(to_lucene(fields.id_field), Lucene::String(), AbstractField::STORE_YES,
                                               AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
  id_field_->setOmitTermFreqAndPositions(true);
  text_field_ = Lucene::newLucene<Lucene::Field>(to_lucene(fields.text_field), Lucene::ByteArray::newInstance(1),
                                                 AbstractField::STORE_YES);
  if (options_.first_stage.analyzer == "english") {
    stream_ = Lucene::newLucene<ChainTokenStream>();
    contents_field_ = Lucene::newLucene<Lucene::Field>(to_lucene(fields.contents_field), stream_);
  } else {
    contents_field_ = Lucene::newLucene<Lucene::Field>(to_lucene(fields.contents_field), Lucene::String(),
                                                       AbstractField::STORE_NO, AbstractField::INDEX_ANALYZED);
  }
  document_->add(id_field_);
  document_->add(text_field_);
  document_->add(contents_field_);
}

void Builder::usable(const char* doing) const {
  if (!writer_) throw Error(ErrorKind::usage, folder_.string(), std::string(doing) + " after close()");
  if (broken_) {
    throw Error(ErrorKind::io, folder_.string(), std::string(doing) + ": an earlier step failed",
                "open the index anew and continue after the last commit");
  }
}

void Builder::add(std::string_view id, std::string_view text) {
  guarded("adding a document", [&] {
    constexpr std::size_t kLongest = 0x3FFFFFFF;
    if (text.size() > kLongest) {
      throw Error(ErrorKind::invalid_data, "document \"" + std::string(id) + "\"", "its text is longer than 1 GiB",
                  "Split it");
    }
    Lucene::String wide;
    id_field_->setValue(to_lucene(id));
    last_id_ = id;
    last_text_ = well_formed_utf8(text);
    const auto size = static_cast<std::int32_t>(last_text_.size());
    const auto bytes = Lucene::ByteArray::newInstance(std::max(size, 1));
    std::memcpy(bytes.get(), last_text_.data(), last_text_.size());
    text_field_->setValue(bytes, 0, size);
    if (stream_) {
      stream_->set_text(last_text_);
    } else {
      contents_field_->setValue(to_lucene(last_text_));
    }
    changed_ = true;
    writer_->addDocument(document_);
    ++running_.documents;
  });
}

void Builder::commit(const std::map<std::string, std::string>& user_data) {
  guarded("committing", [&] {
    need_free_space(folder_, 1 + static_cast<double>(writer_->ramSizeInBytes()) / kMegabyte);
    writer_->flush_segments();
    CommitData data = last_commit_;
    data.user = user_data;
    data.segments = writer_->identity();
    data.totals = running_;
    data.totals.documents_with_tokens += similarity_->documents_with_tokens;
    data.totals.tokens += similarity_->tokens;
    // Fewer documents than were added: a merge has dropped what another program had deleted.
    if (writer_->maxDoc() != data.totals.documents) data.totals = count_again();
    writer_->commit(to_user_data(data));
    similarity_->documents_with_tokens = similarity_->tokens = 0;
    running_ = data.totals;
    last_commit_ = std::move(data);
    changed_ = false;
    verify_last_document();
  });
}

/// Lucene++ loses some texts without a word; ours go in as bytes, and the last of each commit is read back.
void Builder::verify_last_document() {
  if (last_id_.empty() && last_text_.empty()) return;
  const auto document = writer_->read_last_document();
  if (!document || stored_text(document, options_.fields.id_field) != to_utf8(to_lucene(last_id_)) ||
      stored_text(document, options_.fields.text_field).value_or("") != last_text_) {
    throw Error(ErrorKind::io, folder_.string(), "document \"" + last_id_ + "\" does not read back as it was written",
                "check the disk and make the index again");
  }
}

void Builder::merge(int segments) {
  guarded("merging segments", [&] {
    if (segments < 1) throw Error(ErrorKind::usage, folder_.string(), "an index has at least one segment");
    writer_->optimize(segments, true);
    commit(last_commit_.user);
  });
}

void Builder::close() {
  if (!writer_) return;
  if (changed_) commit(last_commit_.user);
  guarded("closing the index", [&] { writer_->close(false); });
  writer_.reset();
}

}  // namespace

std::unique_ptr<IndexBuilder> IndexBuilder::open(const std::filesystem::path& folder, Mode mode, const Options& options) {
  return std::make_unique<Builder>(folder, mode, options);
}

}  // namespace relucent
