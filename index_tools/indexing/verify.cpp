#include "index_tools/indexing/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/checksum.h"
#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "base/text.h"
#include "index_tools/corpora/corpora.h"
#include "index_tools/indexing/encode_index.h"
#include "index_tools/indexing/index_contents.h"
#include "index_tools/indexing/manifest.h"
#include "index_tools/indexing/origin.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/indexing/progress_record.h"
#include "index_tools/indexing/stored_token_ids.h"
#include "plugin/lucene/graphs/check_graphs.h"
#include "plugin/second_stage/graph_settings.h"
#include "relucent/error.h"
#include "relucent/index_files.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using Status = Check::Status;

constexpr const char* kEmbeddingsCheck = "embeddings";
constexpr const char* kGraphsCheck = "graphs";

class Verification {
 public:
  explicit Verification(const VerifyJob& job) : job_(job), fields_(job.fields), first_stage_(job.first_stage) {}

  VerifyReport run() {
    if (!job_.corpus.empty()) find_corpus(job_.corpus);
    if (!is_directory(status_of(job_.index))) {
      throw Error(ErrorKind::io, job_.index.string(), "is not a directory", "pass the index directory");
    }
    report_.own = origin_of(job_.index) == Origin::own;
    if (check_files() && check_structure()) can_read("contents", [&] { check_contents(); });
    return std::move(report_);
  }

 private:
  void add(const std::string& name, Status status, const std::string& detail) {
    report_.checks.push_back({name, status, detail});
  }

  // Calls `work`. Invalid data makes it a damaged check of that name, and the result false.
  template <typename Work>
  bool can_read(const std::string& name, const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_data) throw;
      add(name, Status::damaged, error.what());
      return false;
    }
  }

  // Whether the files are safe to read.
  bool check_files() {
    std::optional<Manifest> manifest;
    if (!can_read("checksums", [&] { manifest = read_manifest(job_.index); })) return false;
    if (manifest) {
      note_other_files(*manifest);
    } else {
      need_index();
    }
    if (!manifest && !can_read("checksums", [&] { manifest = recorded_files(); })) return false;
    if (manifest->files.empty()) {
      add("checksums", Status::note, "none recorded: another program wrote the index");
      return true;
    }
    const std::int64_t damaged_before = count(Status::damaged);
    std::int64_t total = 0, done = 0;
    for (const auto& [name, entry] : manifest->files) total += entry.size;
    Progress progress("reading files", Progress::Unit::bytes, total, job_.quiet);
    for (const auto& [name, entry] : manifest->files) {
      check_file(name, entry, [&](std::int64_t bytes) { progress.update(0, done += bytes); });
    }
    if (count(Status::damaged) > damaged_before) return false;
    add("checksums", Status::ok,
        fmt::format("{} files, {}, unchanged since they were written", manifest->files.size(), format_bytes(total)));
    return true;
  }

  // For files without recorded checksums: whether Lucene++ can read them at all.
  bool check_structure() {
    can_read("structure", [&] {
      for (const std::string& damage : find_damage(job_.index)) add("structure", Status::damaged, damage);
    });
    return count(Status::damaged) == 0;
  }

  void need_index() const {
    const auto is_segments_file = [](const FolderEntry& entry) { return entry.name.starts_with("segments"); };
    if (std::ranges::none_of(entries_of(job_.index), is_segments_file)) {
      throw Error(ErrorKind::invalid_data, job_.index.string(), "the directory contains no index",
                  "check the path, or build an index with `relucent index`");
    }
  }

  void note_other_files(const Manifest& manifest) {
    for (const auto& [name, is_folder] : entries_of(job_.index)) {
      if (in_manifest(name) && !manifest.files.contains(name)) {
        add("checksums", Status::note, name + " was added after indexing finished");
      }
    }
  }

  // For an unfinished index, or another program's: what the last commit records about its files.
  Manifest recorded_files() {
    const IndexFiles files = index_files(job_.index);
    if (!files.damage.empty()) {
      add("commits", Status::note,
          fmt::format("the last commit is incomplete ({}); the previous commit is used", files.damage));
    }
    Manifest manifest;
    for (const IndexFiles::File& file : files.recorded) manifest.files[file.name] = {file.size, file.checksum};
    return manifest;
  }

  void check_file(const std::string& name, const Manifest::Entry& entry,
                  const std::function<void(std::int64_t)>& progress) {
    const fs::path path = job_.index / name;
    std::error_code failure;
    const auto size = static_cast<std::int64_t>(fs::file_size(path, failure));
    if (failure && failure != std::errc::no_such_file_or_directory) {
      throw_io_error(path, "reading its size", failure.value());
    }
    if (failure) {
      add("checksums", Status::damaged, name + " is missing");
    } else if (size != entry.size) {
      add("checksums", Status::damaged, fmt::format("{} has {} bytes, not {}", name, size, entry.size));
    } else {
      can_read("checksums", [&] {
        if (checksum_of_file(path, -1, progress) == entry.checksum) return;
        add("checksums", Status::damaged, name + " has changed since it was written");
      });
    }
  }

  void check_contents() {
    const auto user_data = committed_user_data(job_.index);
    std::optional<ProgressRecord> record;
    if (user_data.contains(kProgressKey)) {
      record = progress_record_from(user_data, job_.index.string());
      fields_ = record->fields;
      first_stage_.analyzer = record->analyzer;
      report_.corpus = record->corpus;
    } else {
      add("progress", Status::note, "the index was not written by `relucent index`");
    }
    check_lengths();
    const IndexContents contents = read_contents(job_.index, fields_, first_stage_, job_.quiet);
    report_.documents = contents.documents;
    if (record) {
      check_documents(*record, contents);
    } else {
      add("documents", Status::ok, with_commas(contents.documents) + " documents");
    }
    // `relucent index` never writes such documents; another program may do so on purpose.
    const Status fault = record ? Status::damaged : Status::note;
    check_faults("texts", contents.without_text, "without a stored text", "every stored text is readable", fault);
    check_faults("ids", contents.without_id, "without an id", "every document has an id", fault);
    check_repeated(contents, !record || record->duplicates == Duplicates::keep);
    check_token_ids();
    check_embedding_files();
    check_stored_graphs();
    check_statistics(contents);
    check_corpus(contents.documents);
  }

  void check_lengths() {
    for (const LengthsFile& file : relucent::check_lengths(job_.index)) {
      if (file.state == LengthsFile::State::wrong) {
        std::error_code failure;
        fs::remove(job_.index / file.name, failure);
        add("lengths", Status::damaged, file.name + " did not match the postings and was removed");
      } else if (file.state == LengthsFile::State::stale) {
        add("lengths", Status::note, file.name + " belongs to another state of the index and is ignored");
      } else {
        add("lengths", Status::ok, file.name + " matches the postings");
      }
    }
  }

  void check_documents(const ProgressRecord& record, const IndexContents& contents) {
    if (!record.complete) {
      add("progress", Status::note,
          fmt::format("indexing is unfinished after {} documents; continue it with `relucent index ... --resume`",
                      with_commas(record.documents)));
    }
    if (record.updated) {
      add("documents", Status::ok,
          fmt::format("{} documents after updates; {} were indexed first", with_commas(contents.documents),
                      with_commas(record.documents)));
      if (contents.deleted > 0) {
        add("documents", Status::note, with_commas(contents.deleted) + " deleted ones take space until a merge");
      }
    } else if (contents.documents + contents.deleted == record.documents) {
      if (contents.deleted > 0) add("documents", Status::note, with_commas(contents.deleted) + " were deleted later");
      add("documents", Status::ok, with_commas(contents.documents) + " documents, as recorded");
    } else {
      add("documents", Status::damaged,
          fmt::format("{} documents, but {} were indexed", with_commas(contents.documents),
                      with_commas(record.documents)));
    }
  }

  void check_faults(const std::string& name, const IndexContents::Faults& faults, const std::string& problem,
                    const std::string& praise, Status status = Status::damaged) {
    if (faults.count == 0) {
      add(name, Status::ok, praise);
    } else {
      add(name, status, fmt::format("{} documents {}: {}", with_commas(faults.count), problem, list(faults)));
    }
  }

  void check_repeated(const IndexContents& contents, bool allowed) {
    if (contents.repeated_ids.count == 0) {
      add("ids", Status::ok, "ids are unique");
    } else {
      add("ids", allowed ? Status::note : Status::damaged,
          fmt::format("{} documents repeat an earlier id: {}", with_commas(contents.repeated_ids.count),
                      list(contents.repeated_ids)));
    }
  }

  void check_token_ids() {
    const StoredTokenIds stored = read_token_ids(job_.index, fields_, job_.model, job_.quiet);
    if (stored.tokenizer.empty()) return;
    check_faults("token ids", stored.unreadable, "with unreadable token ids", "every document has token ids");
    if (stored.recomputed) {
      check_faults("token ids", stored.different, "whose token ids do not match their texts",
                   fmt::format("they match the texts (tokenizer {})", stored.tokenizer));
    } else {
      add("token ids", Status::note,
          fmt::format("not compared: they were made by the tokenizer {}, not by the model's", stored.tokenizer));
    }
    if (stored.documents == 0) return;
    std::string length = fmt::format("{:.1f} word pieces per document",
                                     static_cast<double>(stored.pieces) / static_cast<double>(stored.documents));
    if (stored.cut > 0) {
      length += fmt::format(" or more: of {} only the first are stored", with_commas(stored.cut));
    }
    add("token ids", Status::ok, length);
  }

  void check_embedding_files() {
    const EmbeddingsCheck found = check_embeddings(job_.index, job_.quiet);
    const std::string command = "; run `" + std::string(kEmbeddings.command) + "`";
    for (const std::string& damage : found.damaged) add(kEmbeddingsCheck, Status::damaged, damage);
    if (!found.left_over.empty()) {
      add(kEmbeddingsCheck, Status::note, "of segments that the index no longer has: " + join(found.left_over));
    }
    if (found.forms.empty()) return;
    if (!found.missing.empty()) {
      add(kEmbeddingsCheck, Status::note,
          fmt::format("{} of {} segments have none ({}){}", found.missing.size(), found.segments, join(found.missing),
                      command));
    }
    if (found.forms.size() > 1) {
      add(kEmbeddingsCheck, Status::damaged, "the segments' are of different models, precisions or fields" + command);
      return;
    }
    const EmbeddingForm& form = found.forms.front();
    add(kEmbeddingsCheck, Status::ok,
        fmt::format("{} documents, {} of {} numbers in {}, by the model {} from {}", with_commas(found.documents),
                    form.shape.rows == 0   ? std::string("vectors")
                    : form.shape.rows == 1 ? std::string("1 vector")
                                           : fmt::format("{} vectors", form.shape.rows),
                    form.shape.hidden, to_string(form.numbers), to_hex(form.shape.fingerprint), join(form.fields)));
  }

  void check_stored_graphs() {
    const GraphsCheck check = check_graphs(job_.index);
    const std::string remedy = "; `relucent graphs` repairs it";
    for (const std::string& one : check.damaged) add(kGraphsCheck, Status::damaged, one + remedy);
    for (const std::string& one : check.leftover) {
      add(kGraphsCheck, Status::note, one + " belongs to no segment of the index" + remedy);
    }
    if (check.whole.empty()) return;
    add(kGraphsCheck, Status::ok,
        fmt::format("{} files, {}, {}", check.whole.size(), format_bytes(static_cast<std::uint64_t>(check.bytes)),
                    check.origin));
    const auto without = check.segments - static_cast<std::int64_t>(check.whole.size() + check.damaged.size());
    if (without > 0) {
      add(kGraphsCheck, Status::note, fmt::format("{} of {} segments have none{}", without, check.segments, remedy));
    }
  }

  void check_statistics(const IndexContents& contents) {
    const std::string counted = fmt::format("{} documents with {} tokens", with_commas(contents.documents_with_tokens),
                                            with_commas(contents.tokens));
    if (!contents.unsearchable.empty()) {
      add("statistics", Status::note, contents.unsearchable);
    } else if (contents.deleted > 0) {
      add("statistics", Status::note, "deleted documents still count in BM25's statistics; not compared");
    } else if (contents.documents_with_tokens == contents.recorded_documents_with_tokens &&
               contents.tokens == contents.recorded_tokens) {
      add("statistics", Status::ok, counted + ", as recorded");
    } else {
      add("statistics", Status::damaged,
          fmt::format("{} in the postings, but {} and {} are recorded", counted,
                      with_commas(contents.recorded_documents_with_tokens), with_commas(contents.recorded_tokens)));
    }
  }

  void check_corpus(std::int64_t documents) {
    const auto& known = corpora();
    const std::string id = job_.corpus.empty() ? report_.corpus : job_.corpus;
    const auto corpus = std::find_if(known.begin(), known.end(), [&](const Corpus& each) { return each.id == id; });
    if (corpus == known.end() || corpus->official_documents == 0) return;
    if (!job_.corpus.empty() && !report_.corpus.empty() && job_.corpus != report_.corpus) {
      add("corpus", Status::mismatch, fmt::format("the index holds {}, not {}", report_.corpus, job_.corpus));
    } else if (documents == corpus->official_documents) {
      add("corpus", Status::ok, fmt::format("all {} documents of {}", with_commas(documents), id));
    } else {
      const bool partial = documents < corpus->official_documents;
      add("corpus", job_.corpus.empty() ? Status::note : Status::mismatch,
          fmt::format("{}: {} of the {} documents of {}", partial ? "partial" : "too many", with_commas(documents),
                      with_commas(corpus->official_documents), id));
    }
  }

  std::int64_t count(Status status) const {
    return std::count_if(report_.checks.begin(), report_.checks.end(),
                         [&](const Check& check) { return check.status == status; });
  }

  static std::string list(const IndexContents::Faults& faults) {
    const bool more = faults.count > static_cast<std::int64_t>(faults.examples.size());
    return join(faults.examples) + (more ? ", ..." : "");
  }

  const VerifyJob& job_;
  IndexConfig fields_;
  FirstStageConfig first_stage_;
  VerifyReport report_;
};

}  // namespace

const char* to_string(Check::Status status) noexcept {
  switch (status) {
    case Check::Status::ok: return "ok";
    case Check::Status::note: return "note";
    case Check::Status::mismatch: return "mismatch";
    case Check::Status::damaged: break;
  }
  return "damaged";
}

bool VerifyReport::sound() const {
  return std::none_of(checks.begin(), checks.end(), [](const Check& check) { return check.status == Status::damaged; });
}

std::vector<std::pair<std::string, std::string>> VerifyReport::damaged_records() const {
  std::map<std::string, std::string> records;
  for (const Check& check : checks) {
    if (check.status != Status::damaged) continue;
    if (check.name != kEmbeddingsCheck && check.name != kGraphsCheck) return {};
    records[check.name] = check.name == kGraphsCheck ? kGraphRecords.command : kEmbeddings.command;
  }
  return {records.begin(), records.end()};
}

bool VerifyReport::matches() const {
  return std::none_of(checks.begin(), checks.end(),
                      [](const Check& check) { return check.status >= Status::mismatch; });
}

VerifyReport verify_index(const VerifyJob& job) { return Verification(job).run(); }

}  // namespace relucent::index_tools
