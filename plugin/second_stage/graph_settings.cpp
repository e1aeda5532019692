#include "plugin/second_stage/graph_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/checksum.h"
#include "relucent/error.h"

namespace relucent {
namespace {

/// Version of the bytes that encode_graph() writes.
constexpr int kRecordVersion = 1;

std::string on_one_line(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\n' || c == '\\') text += '\\';
    text += c == '\n' ? 'n' : c;
  }
  return text;
}

}  // namespace

GraphOrigin graph_origin(const GraphForm& form, const IndexConfig& fields, const FirstStageConfig& first_stage) {
  const GraphSettings& settings = form.settings;
  GraphOrigin origin{{"record", std::to_string(kRecordVersion)},
                     {"passage_window", std::to_string(settings.window)},
                     {"passage_stride", std::to_string(settings.stride)},
                     {"max_document_tokens", std::to_string(settings.max_document_tokens)},
                     {"max_sentence_nodes", std::to_string(settings.max_sentence_nodes)},
                     {"max_token_nodes", std::to_string(settings.max_token_nodes)},
                     {"max_terms", std::to_string(settings.max_terms)},
                     {"passage_neighbours", std::to_string(settings.passage_neighbours)},
                     {"entity_min_score", fmt::format("{}", settings.entity_min_score)},
                     {"tokenizer", to_hex(form.tokenizer->fingerprint())},
                     {"analyzer", std::string(to_string(first_stage.analyzer))},
                     {"contents_field", on_one_line(fields.contents_field)}};
  for (const std::string& field : fields.fields_read()) origin.emplace_back("text_field", on_one_line(field));
  return origin;
}

GraphSettings settings_in(const GraphOrigin& origin, const std::string& place) {
  // The same bounds as for config.json.
  const auto number = [&](std::string_view name, std::int32_t least, std::int32_t most) {
    const std::string_view text = value_of(origin, name);
    std::int32_t value = -1;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value).ptr;
    if (text.empty() || end != text.data() + text.size() || value < least || value > most) {
      throw Error(ErrorKind::invalid_data, place, fmt::format("does not state a possible {}", name),
                  fmt::format("run `{}`", kGraphRecords.command));
    }
    return value;
  };
  GraphSettings settings;
  settings.window = number("passage_window", 1, 1 << 16);
  settings.stride = number("passage_stride", 1, settings.window);
  settings.max_document_tokens = number("max_document_tokens", 1, (1 << 16) - 1);
  settings.max_sentence_nodes = number("max_sentence_nodes", 0, 4096);
  settings.max_token_nodes = number("max_token_nodes", 0, 4096);
  return settings;
}

std::string to_settings(const GraphOrigin& origin) {
  std::string text;
  for (const auto& [name, value] : origin) text += fmt::format("{} {}\n", name, value);
  return text;
}

GraphOrigin from_settings(std::string_view settings) {
  GraphOrigin origin;
  while (!settings.empty()) {
    const std::string_view line = settings.substr(0, settings.find('\n'));
    settings.remove_prefix(std::min(settings.size(), line.size() + 1));
    const std::size_t blank = line.find(' ');
    origin.emplace_back(line.substr(0, blank), blank == std::string_view::npos ? "" : line.substr(blank + 1));
  }
  return origin;
}

std::string_view value_of(const GraphOrigin& origin, std::string_view name) {
  const auto found = std::find_if(origin.begin(), origin.end(), [&](const auto& one) { return one.first == name; });
  return found == origin.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::string> difference(const GraphOrigin& wanted, const GraphOrigin& found) {
  const auto values = [](const GraphOrigin& origin, std::string_view name) {
    std::string all;
    for (const auto& [one, value] : origin) {
      if (one == name) all += (all.empty() ? "" : ", ") + value;
    }
    return all.empty() ? std::string("not stated") : all;
  };
  for (const auto& [name, ignored] : wanted) {
    const std::string here = values(found, name), there = values(wanted, name);
    if (here != there) return fmt::format("{} is {}, not {}", name, here, there);
  }
  return std::nullopt;
}

}  // namespace relucent
