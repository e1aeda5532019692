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
constexpr float kLargestInt8 = 127;

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

std::optional<std::int32_t> positive(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

template <typename Number>
void append(std::string& bytes, Number value) {
  static_assert(std::endian::native == std::endian::little);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The nearest float of every finite f16. from_f16() without branches, so that the compiler can vectorize it.
float widened(std::uint16_t half) noexcept {
  const float magnitude = std::bit_cast<float>(static_cast<std::uint32_t>(half & 0x7FFFU) << 13) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | static_cast<std::uint32_t>(half & 0x8000U)
                                                                            << 16);
}

void store_row(EmbeddingNumbers numbers, std::span<const float> row, std::string& bytes) {
  switch (numbers) {
    case EmbeddingNumbers::fp32:
      for (const float value : row) append(bytes, value);
      return;
    case EmbeddingNumbers::fp16:
      for (const float value : row) append(bytes, to_f16(value));
      return;
    case EmbeddingNumbers::int8:
      float largest = 0;
      for (const float value : row) largest = std::max(largest, std::fabs(value));
      const float scale = largest / kLargestInt8;
      append(bytes, scale);
      for (const float value : row) {
        const float steps = scale > 0 ? std::nearbyint(value / scale) : 0;
        append(bytes, static_cast<std::int8_t>(std::clamp(steps, -kLargestInt8, kLargestInt8)));
      }
  }
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
    refuse(fmt::format("has {} vectors of {} numbers per document, but the model has {} of {}", form.shape.rows,
                       form.shape.hidden, shape.rows, shape.hidden));
  }
  if (form.fields != fields) {
    refuse(fmt::format("was encoded from the field \"{}\", but the profile reads \"{}\"", join(form.fields, "\", \""),
                       join(fields, "\", \"")));
  }
}

}  // namespace

std::string_view to_string(EmbeddingNumbers numbers) noexcept {
  switch (numbers) {
    case EmbeddingNumbers::fp32: return "fp32";
    case EmbeddingNumbers::fp16: return "fp16";
    case EmbeddingNumbers::int8: break;
  }
  return "int8";
}

EmbeddingNumbers embedding_numbers(std::string_view name) {
  for (const EmbeddingNumbers numbers : kAll) {
    if (to_string(numbers) == name) return numbers;
  }
  throw Error(ErrorKind::usage, name, "embeddings cannot be stored in this precision", "use fp32, fp16 or int8");
}

std::size_t EmbeddingForm::bytes() const {
  switch (numbers) {
    case EmbeddingNumbers::fp32: return 4 * shape.values();
    case EmbeddingNumbers::fp16: return 2 * shape.values();
    case EmbeddingNumbers::int8: break;
  }
  return shape.values() + 4 * static_cast<std::size_t>(shape.rows);
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
  const auto rows = positive(lines[1]), hidden = positive(lines[2]);
  constexpr std::int32_t most = 1 << 14;  // so that no product overflows
  if (numbers == std::end(kAll) || !rows || !hidden || *rows > most || *hidden > most) throw refuse();
  EmbeddingForm form{{header.fingerprint, *rows, *hidden}, *numbers, {lines.begin() + 3, lines.end()}};
  if (form.bytes() != header.record_bytes) throw refuse();
  return form;
}

void store_embedding(const EmbeddingForm& form, std::span<const float> embedding, std::string& bytes) {
  const auto fits = [&](float value) {
    constexpr float too_large_for_fp16 = 65520;
    return std::isfinite(value) && (form.numbers != EmbeddingNumbers::fp16 || std::fabs(value) < too_large_for_fp16);
  };
  if (!std::all_of(embedding.begin(), embedding.end(), fits)) {
    throw Error(ErrorKind::invalid_data, "embeddings", "a number is not finite, or too large for fp16",
                "run `relucent model check`, or store them as fp32");
  }
  const auto hidden = static_cast<std::size_t>(form.shape.hidden);
  for (std::size_t at = 0; at < embedding.size(); at += hidden) {
    store_row(form.numbers, embedding.subspan(at, hidden), bytes);
  }
}

void load_embedding(const EmbeddingForm& form, std::string_view bytes, std::span<float> embedding) noexcept {
  const auto hidden = static_cast<std::size_t>(form.shape.hidden);
  switch (form.numbers) {
    case EmbeddingNumbers::fp32: std::memcpy(embedding.data(), bytes.data(), bytes.size()); return;
    case EmbeddingNumbers::fp16:
      for (std::size_t i = 0; i < embedding.size(); ++i) {
        std::uint16_t half;
        std::memcpy(&half, bytes.data() + 2 * i, sizeof half);
        embedding[i] = widened(half);
      }
      return;
    case EmbeddingNumbers::int8:
      for (std::size_t at = 0; at < embedding.size(); at += hidden) {
        float scale;
        std::memcpy(&scale, bytes.data(), sizeof scale);
        for (std::size_t i = 0; i < hidden; ++i) {
          embedding[at + i] = scale * static_cast<float>(static_cast<std::int8_t>(bytes[sizeof scale + i]));
        }
        bytes.remove_prefix(sizeof scale + hidden);
      }
  }
}

StoredEmbeddings::StoredEmbeddings(std::shared_ptr<const InputIndex> index, const EmbeddingShape& shape,
                                   MissingEmbeddings missing)
    : index_(std::move(index)), missing_(missing), values_(shape.values()) {
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
    std::string embedding(values_ * sizeof(float), '\0');
    const auto segment = static_cast<std::size_t>(&records_->segment_of(document.number) - records_->segments().data());
    load_embedding(forms_[segment], record, {reinterpret_cast<float*>(embedding.data()), values_});
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

}  // namespace relucent
