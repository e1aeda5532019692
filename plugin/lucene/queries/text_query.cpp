#include "relucent/text_query.h"

#include <Analyzer.h>
#include <BooleanClause.h>
#include <BooleanQuery.h>
#include <StringReader.h>
#include <Term.h>
#include <TermAttribute.h>
#include <TermQuery.h>
#include <TokenStream.h>

#include <chrono>
#include <map>
#include <vector>

#include "plugin/lucene/errors.h"
#include "relucent/english_analyzer.h"
#include "relucent/stored_text.h"
#include "relucent/times.h"
#include "relucent/weighted_field.h"

namespace relucent {
namespace {

using Lucene::newLucene;

std::vector<Lucene::String> words_of(std::string_view text, const Config& config, const Lucene::String& field) {
  const auto stream = make_analyzer(config)->tokenStream(field, newLucene<Lucene::StringReader>(to_lucene(text)));
  const auto word = stream->addAttribute<Lucene::TermAttribute>();
  std::vector<Lucene::String> words;
  stream->reset();
  while (stream->incrementToken()) words.push_back(word->term());
  stream->end();
  stream->close();
  return words;
}

}  // namespace

RescoreQueryPtr makeTextQuery(std::string_view text, const Config& config) {
  return with_errors("query", "analyzing its text", [&] {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<WeightedField> fields = searched_fields(config.index, config.first_stage);
    // A word that occurs c times becomes one clause with boost c: the same score with fewer clauses.
    std::map<Lucene::String, int> counts;
    std::vector<Lucene::String> distinct;
    for (const auto& word : words_of(text, config, to_lucene(fields.front().name))) {
      if (++counts[word] == 1) distinct.push_back(word);
    }
    const auto words = newLucene<Lucene::BooleanQuery>(true);
    for (const WeightedField& field : fields) {
      const Lucene::String name = to_lucene(field.name);
      for (const auto& word : distinct) {
        const auto clause = newLucene<Lucene::TermQuery>(newLucene<Lucene::Term>(name, word));
        clause->setBoost(counts[word] * static_cast<double>(field.weight));
        // Not add(), which rejects more than BooleanQuery::getMaxClauseCount() clauses, a limit meant for wildcards.
        words->getClauses().add(newLucene<Lucene::BooleanClause>(clause, Lucene::BooleanClause::SHOULD));
      }
    }
    const auto query = newLucene<RescoreQuery>(words, text);
    query->parseTime = time_since(start);
    return query;
  });
}

}  // namespace relucent
