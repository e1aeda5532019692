#pragma once

#include <string>
#include <string_view>

namespace relucent {

/// What is wrong with a query that Lucene++'s QueryParser refused, in one clause.
/// @param query    the query, UTF-8
/// @param message  the parser's; those of JavaCC list every token that it knows
std::string syntax_problem(std::string_view query, std::string_view message);

}  // namespace relucent
