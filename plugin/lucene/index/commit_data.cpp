#include "plugin/lucene/index/commit_data.h"

#include <LuceneException.h>
#include <LuceneObject.h>
#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/checksum.h"
#include "base/nesting.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

const std::string kPrefix = "relucent.";
constexpr const char* kFormat = "1";
/// An index with analyzed fields has another one, because earlier versions would add documents without them.
constexpr const char* kFormatWithAnalyzedFields = "2";
constexpr const char* kTokenizer = "tokenizer";
constexpr const char* kMetadata = "metadata";

}  // namespace

Lucene::MapStringString to_user_data(const CommitData& data) {
  auto map = Lucene::MapStringString::newInstance();
  const auto put = [&](const std::string& key, const auto& value) {
    map.put(to_lucene(key), to_lucene(fmt::format("{}", value)));
  };
  for (const auto& [key, value] : data.user) {
    if (key.starts_with(kPrefix)) {
      throw Error(ErrorKind::usage, fmt::format("commit data \"{}\"", key),
                  "keys that start with \"relucent.\" are reserved", "use another key");
    }
    put(key, value);
  }
  put(kPrefix + "format", data.fields.analyzed_fields.empty() ? kFormat : kFormatWithAnalyzedFields);
  put(kPrefix + "id_field", data.fields.id_field);
  put(kPrefix + "text_field", data.fields.text_field);
  put(kPrefix + "contents_field", data.fields.contents_field);
  put(kPrefix + "analyzer", to_string(data.analyzer));
  put(kPrefix + "segments", data.segments);
  put(kPrefix + "documents", data.totals.documents);
  put(kPrefix + "documents_with_tokens", data.totals.documents_with_tokens);
  put(kPrefix + "tokens", data.totals.tokens);
  if (data.tokenizer != 0) {
    put(kPrefix + kTokenizer, to_hex(data.tokenizer));
    put(kPrefix + "most_token_ids", data.max_token_ids);
  }
  if (data.metadata) {
    // Names of fields are any text.
    nlohmann::json names = {{"keyword_fields", data.fields.keyword_fields},
                            {"number_fields", data.fields.number_fields}};
    for (std::size_t i = 0; i < data.fields.analyzed_fields.size(); ++i) {
      names["analyzed_fields"].push_back({{"name", data.fields.analyzed_fields[i]},
                                          {"documents_with_tokens", data.analyzed.at(i).document_count},
                                          {"tokens", data.analyzed.at(i).sum_total_term_freq}});
    }
    put(kPrefix + kMetadata, names.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  }
  return map;
}

std::optional<CommitData> from_user_data(const Lucene::MapStringString& map, const std::string& place) {
  if (!map) return std::nullopt;
  std::map<std::string, std::string> own;
  CommitData data;
  for (const auto& [key, value] : map) {
    std::string name = to_utf8(key);
    if (name.starts_with(kPrefix)) {
      own[name.substr(kPrefix.size())] = to_utf8(value);
    } else {
      data.user[std::move(name)] = to_utf8(value);
    }
  }
  if (own.empty()) return std::nullopt;
  if (own["format"] != kFormat && own["format"] != kFormatWithAnalyzedFields) {
    throw Error(ErrorKind::invalid_data, place,
                fmt::format("the index was written by another version (format \"{}\")", own["format"]),
                "rebuild it with `relucent index --overwrite`, or use the other version");
  }
  data.fields.id_field = own["id_field"];
  data.fields.text_field = own["text_field"];
  data.fields.contents_field = own["contents_field"];
  const auto analyzer = analyzer_from(own["analyzer"]);
  if (!analyzer) {
    throw Error(ErrorKind::invalid_data, place,
                fmt::format("unknown analyzer \"{}\" in the commit's \"{}analyzer\"", own["analyzer"], kPrefix),
                "restore the index from a copy, or rebuild it with this version");
  }
  data.analyzer = *analyzer;
  data.segments = own["segments"];
  const auto number = [&](const char* key) {
    const std::string& text = own[key];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0) {
      throw Error(ErrorKind::invalid_data, place,
                  fmt::format("the commit's \"{}{}\" is not a count: \"{}\"", kPrefix, key, text),
                  "restore the index from a copy, or rebuild it");
    }
    return value;
  };
  data.totals = {number("documents"), 0, number("documents_with_tokens"), number("tokens")};
  if (own.contains(kTokenizer)) {
    data.tokenizer = from_hex(own[kTokenizer], place);
    data.max_token_ids = static_cast<std::int32_t>(number("most_token_ids"));
  }
  if (own.contains(kMetadata)) {
    data.metadata = true;
    try {
      if (too_deep_in_json(own[kMetadata]) || too_many_in_json(own[kMetadata])) throw std::runtime_error("too large");
      const auto names = nlohmann::json::parse(own[kMetadata]);
      data.fields.keyword_fields = names.at("keyword_fields").get<std::vector<std::string>>();
      data.fields.number_fields = names.at("number_fields").get<std::vector<std::string>>();
      for (const auto& field : names.value("analyzed_fields", nlohmann::json::array())) {
        data.fields.analyzed_fields.push_back(field.at("name").get<std::string>());
        const FieldStatistics totals{field.at("documents_with_tokens").get<std::int64_t>(),
                                     field.at("tokens").get<std::int64_t>()};
        if (totals.document_count < 0 || totals.sum_total_term_freq < totals.document_count) {
          throw std::runtime_error("impossible totals");
        }
        data.analyzed.push_back(totals);
      }
    } catch (const std::exception&) {
      throw Error(ErrorKind::invalid_data, place,
                  fmt::format("the commit's \"{}{}\" does not name the declared fields", kPrefix, kMetadata),
                  "restore the index from a copy, or rebuild it");
    }
  }
  return data;
}

std::optional<CommitData> commit_data_of(const Lucene::IndexReaderPtr& reader, const std::string& place) {
  try {
    return from_user_data(reader->getCommitUserData(), place);
  } catch (const Lucene::LuceneException&) {  // a reader of several indexes has no commit
    return std::nullopt;
  }
}

std::optional<AnalyzerKind> recorded_analyzer(const Lucene::IndexReaderPtr& reader, const std::string& place) {
  const auto data = commit_data_of(reader, place);
  return data ? std::optional(data->analyzer) : std::nullopt;
}

std::vector<fields::DeclaredField> declared_fields(const Lucene::IndexReaderPtr& reader) {
  const auto data = commit_data_of(reader, "index");
  if (!data) return {};
  return fields::declared_fields(data->fields.keyword_fields, data->fields.number_fields, data->fields.analyzed_fields);
}

Error other_analyzer(const std::string& place, AnalyzerKind recorded, AnalyzerKind named) {
  return {
      ErrorKind::usage, place,
      fmt::format("the index was built with the analyzer \"{}\", not \"{}\"", to_string(recorded), to_string(named)),
      fmt::format("set [index] language to \"{}\", or leave it and [first_stage] analyzer unset", to_string(recorded))};
}

std::uint64_t tokenizer_of_token_ids(const Lucene::IndexReaderPtr& reader) {
  try {
    auto data = reader->getCommitUserData();
    if (!data) return 0;
    const auto found = data.find(to_lucene(kPrefix + kTokenizer));
    return found == data.end() ? 0 : from_hex(to_utf8(found->second), "tokenizer");
  } catch (const Lucene::LuceneException&) {  // a reader of several indexes has no commit
    return 0;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace relucent
