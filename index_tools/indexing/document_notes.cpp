#include "index_tools/indexing/document_notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/checksum.h"
#include "base/text.h"
#include "index_tools/corpora/json_record.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kReadNotes = 1 << 20, kLongestNote = 64 << 20;

constexpr std::string_view kWeightsForm = R"(write {"id": ..., "weights": {term: number}} per line)";
constexpr std::string_view kEntitiesForm =
    R"(write {"id": ..., "entities": [{"start": ..., "end": ..., "id": ...}]} per line)";

/// Null, or what is wrong.
const char* take_weights(const nlohmann::json& record, TermWeights& weights) {
  const auto stated = record.find("weights");
  if (stated == record.end() || !stated->is_object()) return "has no object \"weights\"";
  for (const auto& [term, weight] : stated->items()) {
    if (!weight.is_number() || !std::isfinite(weight.get<double>())) return "has a weight that is not a finite number";
    weights.emplace(term, weight.get<double>());
  }
  return nullptr;
}

bool is_place(const nlohmann::json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
}

const char* take_entities(const nlohmann::json& record, std::vector<EntityPlace>& entities) {
  const auto stated = record.find("entities");
  if (stated == record.end() || !stated->is_array()) return "has no array \"entities\"";
  for (const nlohmann::json& one : *stated) {
    if (!one.is_object()) return "has an entity that is not an object";
    const auto start = one.find("start"), end = one.find("end"), id = one.find("id"), score = one.find("score");
    if (start == one.end() || end == one.end() || !is_place(*start) || !is_place(*end) || *start >= *end) {
      return "has an entity without places \"start\" < \"end\"";
    }
    EntityPlace& entity = entities.emplace_back();
    entity.place = {start->get<std::size_t>(), end->get<std::size_t>()};
    if (id == one.end() || !take_id(*id, entity.id)) return "has an entity without \"id\"";
    if (score == one.end() || score->is_null()) continue;
    if (!score->is_number() || !std::isfinite(score->get<double>())) return "has a score that is not a finite number";
    entity.score = score->get<double>();
  }
  return nullptr;
}

}  // namespace

DocumentNotes::DocumentNotes(const std::filesystem::path& file, Check check, std::string_view form,
                             const StopSignal& stop)
    : file_(file) {
  Checksum sum;
  std::string buffer(kReadNotes, '\0'), line;
  std::uint64_t begin = 0, number = 0;
  const auto end_line = [&] {
    Entry entry{0, begin, line.size(), ++number};
    begin += line.size() + 1;
    std::string_view text = line;
    if (entry.begin == 0 && text.starts_with("\xEF\xBB\xBF")) {
      text.remove_prefix(3);
      entry.begin += 3, entry.size -= 3;
    }
    if (trim(text).empty()) return line.clear();
    stop.throw_if_due("reading notes about documents");
    std::string id;
    if (const char* problem = check(parse(std::string(text), entry, id))) refuse(entry.line, problem, form);
    entry.hash = relucent::checksum(id);
    entries_.push_back(entry);
    line.clear();
  };
  for (std::int64_t at = 0;;) {
    stop.throw_if_due("reading notes about documents");
    const std::size_t count = file_.read(at, buffer.data(), buffer.size());
    if (count == 0) break;
    at += static_cast<std::int64_t>(count);
    std::string_view rest(buffer.data(), count);
    sum.add(rest);
    for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      line += rest.substr(0, end);
      end_line();
    }
    line += rest;
    if (line.size() > kLongestNote) {
      refuse(number + 1, "is longer than 64 MiB", "give a plain file of JSON lines, one object per document");
    }
  }
  if (!line.empty()) end_line();
  checksum_ = sum.value();
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.hash, a.begin) < std::tie(b.hash, b.begin); });
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].hash != entries_[i - 1].hash) continue;
    std::string one, other;
    read(entries_[i - 1], one), read(entries_[i], other);
    if (one == other) {
      refuse(entries_[i].line, fmt::format("document \"{}\" has a line already, line {}", one, entries_[i - 1].line),
             "keep one of the lines");
    }
  }
}

void DocumentNotes::refuse(std::size_t line, const std::string& problem, std::string_view remedy) const {
  throw Error(ErrorKind::invalid_data, fmt::format("{}:{}", path().string(), line), problem, remedy);
}

nlohmann::json DocumentNotes::read(const Entry& entry, std::string& id) const {
  std::string text(entry.size, '\0');
  text.resize(file_.read(static_cast<std::int64_t>(entry.begin), text.data(), text.size()));
  return parse(std::move(text), entry, id);
}

nlohmann::json DocumentNotes::parse(std::string text, const Entry& entry, std::string& id) const {
  nlohmann::json record;
  if (const char* problem = parse_json_object(text, record)) {
    refuse(entry.line, problem, "give a plain file of JSON lines, one object per document");
  }
  const auto stated = record.find("id");
  if (stated == record.end() || !take_id(*stated, id) || id.empty()) {
    refuse(entry.line, "has no \"id\"", "name the document as the index does");
  }
  return record;
}

std::optional<nlohmann::json> DocumentNotes::find(std::string_view id) const {
  const std::uint64_t hash = relucent::checksum(id);
  auto at = std::lower_bound(entries_.begin(), entries_.end(), hash,
                             [](const Entry& entry, std::uint64_t wanted) { return entry.hash < wanted; });
  for (; at != entries_.end() && at->hash == hash; ++at) {
    std::string found;
    nlohmann::json record = read(*at, found);
    if (found == id) return record;
  }
  return std::nullopt;
}

WeightNotes::WeightNotes(const std::filesystem::path& file, const StopSignal& stop)
    : DocumentNotes(
          file,
          [](const nlohmann::json& record) {
            TermWeights weights;
            return take_weights(record, weights);
          },
          kWeightsForm, stop) {}

std::optional<TermWeights> WeightNotes::of(std::string_view id) const {
  const auto record = find(id);
  if (!record) return std::nullopt;
  TermWeights weights;
  take_weights(*record, weights);
  return weights;
}

EntityNotes::EntityNotes(const std::filesystem::path& file, const StopSignal& stop)
    : DocumentNotes(
          file,
          [](const nlohmann::json& record) {
            std::vector<EntityPlace> entities;
            return take_entities(record, entities);
          },
          kEntitiesForm, stop) {}

std::vector<EntityPlace> EntityNotes::of(std::string_view id) const {
  std::vector<EntityPlace> entities;
  if (const auto record = find(id)) take_entities(*record, entities);
  return entities;
}

}  // namespace relucent::index_tools
