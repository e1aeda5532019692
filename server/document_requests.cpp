#include "server/document_requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "base/utf8.h"
#include "relucent/index_builder.h"
#include "server/answer.h"
#include "server/json.h"
#include "server/refusal.h"

namespace relucent::server {
namespace {

constexpr std::size_t kIdCharacters = 16383;  // of an id that can be looked up in an index
constexpr std::size_t kMaxIdBytes = 4 * kIdCharacters;
constexpr std::size_t kValuesPerDocument = 16;

void require_id(std::string_view id) {
  if (id.empty()) throw not_valid("`id` is empty");
  if (count_code_points(id) > kIdCharacters) {
    throw too_much(fmt::format("`id` has more than {} characters", kIdCharacters));
  }
}

NewDocument document_of(const Json& value, const ServerConfig& limits) {
  if (!value.is_object()) throw not_valid(fmt::format("a document must be an object, not {}", kind_of(value)));
  const Fields fields(value);
  NewDocument document;
  document.id = fields.text("id", kMaxIdBytes);
  require_id(document.id);
  document.text = fields.text("text", static_cast<std::size_t>(limits.text_bytes));
  Answer others = Answer::object();
  for (const auto& [name, other] : value.items()) {
    if (name != "id" && name != "text") others.add(name, Answer::verbatim(other.dump()));
  }
  if (others.size() > 0) document.metadata = to_text(others);
  if (document.metadata.size() > IndexBuilder::kMaxMetadataBytes) {
    throw too_much(fmt::format("the members of document \"{}\" but `id` and `text` have more than {} bytes",
                               document.id, IndexBuilder::kMaxMetadataBytes));
  }
  return document;
}

std::string changed_answer(Answer json, const DocumentWriter::Change& change, const std::string& problem) {
  json["documents"] = change.documents;
  json["searchable"] = problem.empty();
  if (!problem.empty()) json["problem"] = without_paths(problem);
  return to_text(json);
}

constexpr std::string_view kPrefix = "/doc/";

/// RFC 3986, 2.3.
bool is_unreserved(char c) {
  constexpr std::string_view marks = "-._~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         marks.find(c) != std::string_view::npos;
}

}  // namespace

std::vector<NewDocument> parse_documents(std::string_view body, const ServerConfig& limits) {
  const auto most = static_cast<std::size_t>(limits.texts);
  const JsonTree json = parse_object(body, std::max(kMaxValues, kValuesPerDocument * most));
  const Fields fields(*json);
  std::vector<NewDocument> documents;
  const Json* several = fields.find("documents");
  if (several == nullptr) {
    documents.push_back(document_of(*json, limits));
    return documents;
  }
  if (!several->is_array() || several->empty()) throw not_valid("`documents` must be an array of objects");
  if (several->size() > most) throw too_much(fmt::format("`documents` has more than {} members", most));
  std::unordered_set<std::string_view> ids;
  documents.reserve(several->size());  // the views stay valid
  for (const Json& one : *several) {
    documents.push_back(document_of(one, limits));
    if (!ids.insert(documents.back().id).second) {
      throw not_valid(fmt::format("the id \"{}\" occurs twice", documents.back().id));
    }
  }
  return documents;
}

std::string id_in_path(std::string_view path, std::string_view prefix) {
  path.remove_prefix(prefix.size());
  std::string id;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      id += path[i];
      continue;
    }
    unsigned value = 0;
    const char* const first = path.data() + i + 1;
    const char* const last = first + std::min<std::size_t>(2, path.size() - i - 1);
    if (last - first < 2 || std::from_chars(first, last, value, 16).ptr != last) {
      throw not_valid("the id in the path has a % without two hexadecimal digits");
    }
    id += static_cast<char>(value);
    i += 2;
  }
  std::string storage;
  if (well_formed_utf8(id, storage) != id) throw not_valid("the id in the path is not UTF-8");
  require_id(id);
  return id;
}

std::string put_answer(const DocumentWriter::Change& change, const std::string& problem) {
  return changed_answer({{"replaced", change.removed}, {"added", change.unknown_ids}}, change, problem);
}

std::string remove_answer(const DocumentWriter::Change& change, const std::string& problem) {
  return changed_answer({{"deleted", change.removed}}, change, problem);
}

std::string document_path(std::string_view id) {
  std::string path(kPrefix);
  for (const char c : id) {
    if (is_unreserved(c)) {
      path += c;
    } else {
      path += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return path;
}

std::string_view index_in_query(std::string_view query) {
  constexpr std::string_view key = "index=";
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    if (query.starts_with(key)) return query.substr(key.size(), end - key.size());
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

}  // namespace relucent::server
