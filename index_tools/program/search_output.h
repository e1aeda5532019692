#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "index_tools/program/search_session.h"

namespace relucent::program {

struct TableStyle {
  bool styles = false;        ///< bold and colour
  std::size_t columns = 100;  ///< of the screen
};

/// A query's hits for people: rank, how far the second stage moved each, score, BM25's rank and score, id, and a piece
/// of the text with the query's words marked.
void print_table(std::ostream& out, const SearchResult& result, const TableStyle& style);

/// A query's hits as one JSON object on one line. `id` is the topic's; empty for a query without one.
void print_json(std::ostream& out, const SearchResult& result, const std::string& id);

/// A query that could not be answered, as one JSON object on one line: `query`, `error`, and `qid` unless it is empty.
void print_json_error(std::ostream& out, const std::string& query, const std::string& id, const std::string& error);

/// One line: how long each step took.
std::string timings_line(const SearchResult& result);

}  // namespace relucent::program
