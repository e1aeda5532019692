#pragma once

#include <LuceneHeaders.h>

#include <string>

#include "relucent/stored_text.h"

namespace relucent::testing {

inline Lucene::QueryPtr term_query(const std::string& term, const std::string& field = "contents") {
  return Lucene::newLucene<Lucene::TermQuery>(Lucene::newLucene<Lucene::Term>(to_lucene(field), to_lucene(term)));
}

}  // namespace relucent::testing
