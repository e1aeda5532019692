#include "index_tools/benchmarks/peer_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string_view>

#include "base/text.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::benchmarks {
namespace {

// The cells of a line of a Markdown table; none for other lines.
std::vector<std::string> markdown_cells(std::string_view line) {
  line = trim(line);
  std::vector<std::string> cells;
  if (!line.starts_with('|') || line.size() < 2) return cells;
  line.remove_prefix(1);
  for (std::size_t end; (end = line.find('|')) != std::string_view::npos; line.remove_prefix(end + 1))
    cells.emplace_back(trim(line.substr(0, end)));
  return cells;
}

std::optional<double> number_in(std::string cell) {
  std::erase(cell, ',');
  double value = 0;
  return index_tools::parse_number(cell, value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<PeerFigures> read_peers(const std::filesystem::path& file) {
  double candidates = 0;
  std::string length;
  std::vector<std::string> header;
  std::vector<PeerFigures> peers;
  index_tools::for_each_line(file, [&](const std::string& line, std::int64_t) {
    static const std::regex kSizes("^([0-9,]+) candidates (a query|x ([0-9,]+) tokens)");
    if (std::smatch match; std::regex_search(line, match, kSizes)) {
      candidates = number_in(match[1].str()).value_or(0);
      length = match[3].str();
      std::erase(length, ',');
    }
    const std::vector<std::string> cells = markdown_cells(line);
    if (cells.empty() || cells[0].starts_with("---")) return;
    if (std::find(cells.begin(), cells.end(), "contender") != cells.end()) {
      header = cells;
      return;
    }
    if (header.empty() || cells.size() < 3 || !(candidates > 0)) return;
    const auto has = [&](std::string_view name) {
      return std::find(header.begin(), header.end(), name) != header.end();
    };
    const auto cell = [&](std::string_view name) -> std::string {
      const auto place = static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
      return place < std::min(header.size(), cells.size()) ? cells[place] : std::string();
    };
    const char* const time = has("device, ms") ? "device, ms" : has("median ms") ? "median ms" : "text to logits, ms";
    std::string tokens = cell("tokens");
    std::erase(tokens, ',');
    const std::optional<double> ms = number_in(cell(time)), kb = number_in(cell("KB a candidate"));
    if (!ms && !kb) return;
    peers.push_back({cell("contender"), tokens.empty() ? length : tokens,
                     ms ? std::optional(*ms / candidates) : std::nullopt,
                     kb ? std::optional(*kb / 1000) : std::nullopt});
  });
  if (peers.empty()) {
    throw Error(ErrorKind::invalid_data, file.string(), "has no table of contenders",
                "pass what tests/benchmarks/gpu/compare.sh or tests/benchmarks/peers/compare.sh printed");
  }
  return peers;
}

void add_peers(const std::vector<PeerFigures>& peers, index_tools::StudyReport& report) {
  std::set<std::string> other_lengths;
  for (const PeerFigures& peer : peers) {
    const auto column = std::find(report.columns.begin(), report.columns.end(), peer.length);
    if (column == report.columns.end()) {
      other_lengths.insert(peer.length);
      continue;
    }
    auto row = std::find(report.rows.begin(), report.rows.end(), peer.name);
    if (row == report.rows.end()) {
      row = report.rows.insert(report.rows.end(), peer.name);
      for (index_tools::StudyTable& table : report.tables) table.cells.emplace_back(report.columns.size());
    }
    const auto r = static_cast<std::size_t>(row - report.rows.begin());
    const auto c = static_cast<std::size_t>(column - report.columns.begin());
    report.tables[kTimeTable].cells[r][c].value = peer.milliseconds;
    report.tables[kMemoryTable].cells[r][c].value = peer.megabytes;
  }
  if (!other_lengths.empty()) {
    report.notes.push_back(
        fmt::format("left out of the peers: {} tokens, which the study does not measure", join(other_lengths)));
  }
}

}  // namespace relucent::benchmarks
