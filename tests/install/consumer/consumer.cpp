// A program of somebody else's, built against an installed Relucent: indexes three passages, searches them through
// Lucene++'s own API and prints the reranked order.
#include <LuceneHeaders.h>

#include <filesystem>
#include <iostream>

#include "relucent/index_builder.h"
#include "relucent/open_searcher.h"
#include "relucent/rescore_query.h"
#include "relucent/rescoring_query_parser.h"
#include "relucent/version.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  auto builder = relucent::IndexBuilder::open(folder, relucent::IndexBuilder::Mode::create, {});
  builder->add("keyword", "Bread bread bread: how the word bread came into the English language, and bread in songs.");
  builder->add("answer",
               "Store a loaf in a paper bag at room temperature; in the refrigerator the bread goes stale faster.");
  builder->add("other", "A bicycle chain wants a drop of oil every few weeks.");
  builder->commit({});
  builder->close();

  relucent::Config config;
  config.rescorer.timeout = std::chrono::milliseconds(0);
  const auto searcher = relucent::openSearcher(folder, config);
  const auto parser = Lucene::newLucene<relucent::RescoringQueryParser>(config);
  const auto hits = searcher->search(parser->parse(L"how do I keep bread fresh"), 10);
  std::cout << "relucent " << relucent::version() << '\n';
  for (int i = 0; i < hits->scoreDocs.size(); ++i) {
    const auto document = searcher->doc(hits->scoreDocs[i]->doc);
    std::cout << Lucene::StringUtils::toUTF8(document->get(L"id")) << ' ' << hits->scoreDocs[i]->score << '\n';
  }
  return 0;
}
