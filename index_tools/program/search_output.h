#pragma once

#include <cstddef>
#include <ostream>
#include <string>

#include "relucent/search_session.h"

namespace relucent::program {

struct TableStyle {
  bool styles = false;        ///< bold and colour
  std::size_t columns = 100;  ///< of the screen
  bool fit_ids = false;       ///< an id that is too wide for its row gets a line of its own, shortened to fit
};

/// Prints a query's hits as a table: rank, how far the second stage moved the hit, score, BM25's rank and score, id,
/// and a snippet of the text with the query's words highlighted.
void print_table(std::ostream& out, const SearchResult& result, const TableStyle& style);

/// Prints a query's hits as a JSON object on one line. `id` is the topic's id; empty for a query without one.
void print_json(std::ostream& out, const SearchResult& result, const std::string& id);

/// Prints a query that could not be answered as a JSON object on one line: `query`, `error`, and `qid` unless it is
/// empty.
void print_json_error(std::ostream& out, const std::string& query, const std::string& id, const std::string& error);

/// One line with the time of each step.
std::string timings_line(const SearchResult& result);

}  // namespace relucent::program
