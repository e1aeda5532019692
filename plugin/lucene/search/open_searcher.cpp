#include "relucent/open_searcher.h"

#include <IndexReader.h>
#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/search/searcher_parts.h"
#include "relucent/bm25.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"
#include "relucent/rescoring_searcher.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

// Without this check, a misspelt text_field would silently leave every hit unscored.
void require_text_field(const Lucene::IndexReaderPtr& reader, const std::string& field, const std::string& place) {
  if (reader->maxDoc() == 0) return;
  std::set<std::string> names;
  for (const auto& name : reader->getFieldNames(Lucene::IndexReader::FIELD_OPTION_ALL)) names.insert(to_utf8(name));
  if (names.contains(field)) return;
  throw Error(ErrorKind::usage, place,
              fmt::format("no document has a field \"{}\"; existing fields: {}", field, join(names)),
              "set [index] text_field to the stored field with the documents' text, or text_fields to several");
}

}  // namespace

std::filesystem::path folder_to_search(const std::filesystem::path& index, const Config& config) {
  const std::filesystem::path folder = index.empty() ? std::filesystem::path(config.index.path) : index;
  if (!folder.empty()) return folder;
  throw Error(ErrorKind::usage, "openSearcher", "no index was given",
              "give its directory in the call or as [index] path in the profile");
}

Lucene::IndexSearcherPtr make_searcher(const Lucene::IndexReaderPtr& reader, const Config& config,
                                       const std::filesystem::path& folder, const RescorerSource& rescorer) {
  if (!config.rescorer.enabled) {
    return Lucene::newLucene<BM25Searcher>(reader, config.first_stage, config.index, config.log);
  }
  for (const std::string& field : config.index.fields_read()) require_text_field(reader, field, folder.string());
  return Lucene::newLucene<RescoringSearcher>(reader, config, rescorer());
}

Lucene::IndexSearcherPtr openSearcher(const std::filesystem::path& index, const Config& config) {
  check_config(config);
  const std::filesystem::path folder = folder_to_search(index, config);
  return with_errors(folder.string(), "opening a searcher", [&] {
    return make_searcher(open_reader(folder, config.index.verify), config, folder,
                         [&] { return std::make_shared<Rescorer>(config); });
  });
}

Lucene::IndexSearcherPtr openSearcher(const std::filesystem::path& index, const std::filesystem::path& config_file) {
  return openSearcher(index, load_config(config_file));
}

}  // namespace relucent
