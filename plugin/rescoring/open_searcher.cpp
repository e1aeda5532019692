#include <IndexReader.h>

#include "lucene_errors.h"
#include "relucent/bm25.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"
#include "relucent/plugin.h"
#include "relucent/rescoring_searcher.h"

namespace relucent {

Lucene::IndexSearcherPtr openSearcher(const std::filesystem::path& index, const Config& config) {
  check_config(config);
  const std::filesystem::path folder = index.empty() ? std::filesystem::path(config.index.path) : index;
  if (folder.empty()) {
    throw Error(ErrorKind::usage, "openSearcher", "no index is named",
                "name the folder in the call or as [index] path in the profile");
  }
  return with_errors(folder.string(), "opening a searcher", [&]() -> Lucene::IndexSearcherPtr {
    const Lucene::IndexReaderPtr reader = open_reader(folder);
    if (!config.rescorer.enabled) return Lucene::newLucene<BM25Searcher>(reader, config.first_stage, config.index);
    return Lucene::newLucene<RescoringSearcher>(reader, config, std::make_shared<Rescorer>(config));
  });
}

Lucene::IndexSearcherPtr openSearcher(const std::filesystem::path& index, const std::filesystem::path& config_file) {
  return openSearcher(index, load_config(config_file));
}

}  // namespace relucent
