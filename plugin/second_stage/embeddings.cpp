#include "plugin/second_stage/embeddings.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checksum.h"
#include "base/half.h"
#include "base/text.h"

namespace relucent {
namespace {

constexpr EmbeddingNumbers kAll[] = {EmbeddingNumbers::fp32, EmbeddingNumbers::fp16, EmbeddingNumbers::int8};

std::string remedy() { return fmt::format("run `{}`", kEmbeddings.command); }

/// One item per line; the fields last, because there may be several.
std::string settings_of(const EmbeddingForm& form) {
  return fmt::format("{}\n{}\n{}\n{}", to_string(form.numbers), form.shape.rows, form.shape.hidden,
                     join(form.fields, "\n"));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int32_t> number(std::string_view text, std::int32_t least) {
  std::int32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < least) return std::nullopt;
  return value;
}

/// Throws Error if what these records contain is not what is wanted.
void require(const SegmentRecords& records, const EmbeddingForm& form, const EmbeddingShape& shape,
             const std::vector<std::string>& fields) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::invalid_data, records.path().string(), problem, remedy());
  };
  if (form.shape.fingerprint != shape.fingerprint) {
    refuse(fmt::format("was encoded with another checkpoint ({}) than the model ({})", to_hex(form.shape.fingerprint),
                       to_hex(shape.fingerprint)));
  }
  if (form.shape != shape) {
    const auto described = [](const EmbeddingShape& of) {
      return of.rows > 0 ? fmt::format("{} vectors of {} numbers per document", of.rows, of.hidden)
                         : fmt::format("a vector of {} numbers per token", of.hidden);
    };
    refuse(fmt::format("has {}, but the model has {}", described(form.shape), described(shape)));
  }
  if (form.fields != fields) {
    refuse(fmt::format("was encoded from the field \"{}\", but the profile reads \"{}\"", join(form.fields, "\", \""),
                       join(fields, "\", \"")));
  }
}

}  // namespace

std::size_t EmbeddingForm::bytes() const {
  return static_cast<std::size_t>(shape.rows) * stored_size(numbers, static_cast<std::size_t>(shape.hidden));
}

RecordsHeader header_of(const SegmentIdentity& segment, const EmbeddingForm& form) {
  RecordsHeader header{segment, form.shape.fingerprint, settings_of(form), static_cast<std::uint32_t>(form.bytes())};
  if (form.bytes() > kMaxRecordBytes) {
    throw Error(ErrorKind::unsupported, "embeddings",
                fmt::format("of {} vectors of {} numbers are too long", form.shape.rows, form.shape.hidden),
                "use a smaller model");
  }
  return header;
}

EmbeddingForm form_of(const SegmentRecords& records) {
  const RecordsHeader& header = records.header();
  const std::vector<std::string> lines = lines_of(header.settings);
  const auto refuse = [&] {
    return Error(ErrorKind::invalid_data, records.path().string(), "its header does not describe embeddings", remedy());
  };
  if (lines.size() < 4) throw refuse();
  const auto numbers = std::ranges::find(kAll, std::string_view(lines[0]), [](auto one) { return to_string(one); });
  const auto rows = number(lines[1], 0), hidden = number(lines[2], 1);
  constexpr std::int32_t most = 1 << 14;  // so that no product overflows
  if (numbers == std::end(kAll) || !rows || !hidden || *rows > most || *hidden > most) throw refuse();
  EmbeddingForm form{{header.fingerprint, *rows, *hidden}, *numbers, {lines.begin() + 3, lines.end()}};
  if (form.bytes() != header.record_bytes) throw refuse();
  return form;
}

void store_embedding(const EmbeddingForm& form, std::span<const float> embedding, std::string& bytes) {
  const auto hidden = static_cast<std::size_t>(form.shape.hidden);
  for (std::size_t at = 0; at < embedding.size(); at += hidden) {
    store_vector(form.numbers, embedding.subspan(at, hidden), bytes);
  }
}

StoredVectors stored_vectors_of(const Candidate& candidate) {
  const std::string_view input = candidate.input(EmbeddingKind::kName).value_or("");
  if (input.empty()) return {};
  return {static_cast<EmbeddingNumbers>(input.front()), input.substr(1)};
}

StoredEmbeddings::StoredEmbeddings(std::shared_ptr<const InputIndex> index, const EmbeddingShape& shape,
                                   MissingEmbeddings missing)
    : index_(std::move(index)), missing_(missing) {
  const std::vector<SegmentIdentity> segments = index_->segments();
  if (segments.empty()) {
    problem_ = Error(ErrorKind::unsupported, "second stage",
                     "the searched index has no folder, next to which embeddings lie", "search an index in a folder");
    return;
  }
  const std::vector<std::string> fields = index_->fields().fields_read();
  records_.emplace(index_->folder(), kEmbeddings, segments, [&](const SegmentRecords& records) {
    const EmbeddingForm form = form_of(records);
    require(records, form, shape, fields);
  });
  for (const IndexRecords::Segment& segment : records_->segments()) {
    forms_.push_back(segment.problem ? EmbeddingForm() : form_of(*segment.records));
    if (!problem_) problem_ = segment.problem;
  }
}

std::optional<std::string> StoredEmbeddings::read(const InputDocument& document, const StopSignal&) const {
  try {
    if (!records_) throw Error(*problem_);
    const std::string record = records_->read(document.number);
    if (record.empty()) return record;
    const auto segment = static_cast<std::size_t>(&records_->segment_of(document.number) - records_->segments().data());
    const EmbeddingForm& form = forms_[segment];
    const auto hidden = static_cast<std::size_t>(form.shape.hidden);
    if (form.shape.rows == 0) return EmbeddingKind::stored_vectors(form.numbers, record);
    std::string embedding(form.shape.values() * sizeof(float), '\0');
    load_vectors(form.numbers, hidden, record, {reinterpret_cast<float*>(embedding.data()), form.shape.values()});
    return embedding;
  } catch (const Error& error) {
    if (missing_ == MissingEmbeddings::error) throw;
    index_->warn(fmt::format("encoding hits during searches: {}", error.what()));
    return std::nullopt;
  }
}

std::optional<Error> StoredEmbeddings::problem() const {
  if (!problem_ || missing_ == MissingEmbeddings::encode) return std::nullopt;
  return Error(problem_->kind(), problem_->place(), problem_->problem(),
               problem_->remedy() + ", or set [rescorer] missing_embeddings to \"encode\"");
}

bool StoredEmbeddings::absent() const {
  return !records_ || std::ranges::all_of(records_->segments(), &IndexRecords::Segment::absent);
}

}  // namespace relucent
