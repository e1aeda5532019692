#include "plugin/index_format/segment/segment.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "plugin/index_format/token_ids.h"
#include "relucent/error.h"

namespace relucent::segment {
namespace {

constexpr std::int32_t kSegmentsFormat = -2;
constexpr std::uint8_t kIndexed = 0x01, kOmitNorms = 0x10, kOmitFrequencies = 0x40;

}  // namespace

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& name, const char* extension) {
  return folder / fmt::format("{}.{}", name, extension);
}

void add_counts(std::vector<FieldStatistics>& sum, const std::vector<FieldStatistics>& part) {
  if (sum.size() < part.size()) sum.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    sum[i].document_count += part[i].document_count;
    sum[i].sum_total_term_freq += part[i].sum_total_term_freq;
  }
}

Fields::Fields(const std::string& id_name, const std::string& text_name, const std::string& contents_name,
               bool with_token_ids, MetadataFields metadata_fields)
    : id(id_name),
      text(text_name),
      contents(contents_name),
      token_ids(with_token_ids),
      metadata(std::move(metadata_fields)) {
  check_names();
  if (text == contents) contents_number = text_number;
  token_ids_number = contents_number + 1;
  metadata_number = token_ids_number + (token_ids ? 1 : 0);
  sort_indexed();
}

void Fields::check_names() const {
  if (id == text || id == contents) {
    throw Error(ErrorKind::usage, "[index] id_field", fmt::format("\"{}\" is also the name of another field", id),
                "use a separate field for the id");
  }
  const auto reserve = [&](const char* name, const char* what) {
    if (id != name && text != name && contents != name) return;
    throw Error(ErrorKind::usage, "[index]", fmt::format("\"{}\" is reserved for the {}", name, what),
                "rename the other field");
  };
  if (token_ids) reserve(kTokenIdsField, "token ids");
  if (metadata.stored) reserve(fields::kMetadataField, "metadata");
  std::set<std::string> names = {id, text, contents, kTokenIdsField, fields::kMetadataField};
  for (const auto& field : metadata.declared) {
    if (field.name.empty() || !names.insert(field.name).second) {
      throw Error(ErrorKind::usage, "[index] keyword_fields, number_fields, analyzed_fields",
                  field.name.empty() ? "a key is empty" : fmt::format("\"{}\" is the name of two fields", field.name),
                  "declare a key once, and not one that is the name of the id's, the text's or the contents' field");
    }
  }
}

void Fields::sort_indexed() {
  std::map<std::string, std::uint32_t> numbers = {{id, id_number}, {contents, contents_number}};
  analyzed_.push_back(contents_number);
  for (std::size_t i = 0; i < metadata.declared.size(); ++i) {
    numbers[metadata.declared[i].name] = declared_number(i);
    if (metadata.declared[i].kind == fields::Kind::text) analyzed_.push_back(declared_number(i));
  }
  for (const auto& [name, number] : numbers) indexed_.push_back(number);
}

FileSum Fields::write(const std::filesystem::path& file) const {
  FileOutput out(file);
  const bool shared = text == contents;
  out.negative_number(kSegmentsFormat);
  out.number((shared ? 2 : 3) + (token_ids ? 1 : 0) + (metadata.stored ? 1 + metadata.declared.size() : 0));
  out.string(id);
  out.byte(kIndexed | kOmitNorms | kOmitFrequencies);
  if (!shared) {
    out.string(text);
    out.byte(kOmitNorms);
  }
  out.string(contents);
  out.byte(kIndexed);
  if (token_ids) {
    out.string(kTokenIdsField);
    out.byte(kOmitNorms);
  }
  if (metadata.stored) {
    out.string(fields::kMetadataField);
    out.byte(kOmitNorms);
    for (const auto& field : metadata.declared) {
      out.string(field.name);
      out.byte(field.kind == fields::Kind::text ? kIndexed : kIndexed | kOmitNorms | kOmitFrequencies);
    }
  }
  return out.finish();
}

}  // namespace relucent::segment
