#pragma once

#include <Lucene.h>

#include <IndexReader.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugin/index_format/fields/declared_fields.h"
#include "relucent/collection_statistics.h"
#include "relucent/error.h"
#include "relucent/index_builder.h"

namespace relucent {

/// The data that IndexBuilder adds to a commit's user data.
struct CommitData {
  IndexConfig fields;  ///< the three field names, keyword_fields, number_fields and analyzed_fields
  AnalyzerKind analyzer = AnalyzerKind::english;
  std::string segments;  ///< bm25::segments_identity at the commit
  IndexBuilder::Totals totals;
  std::vector<FieldStatistics> analyzed;  ///< of each of fields.analyzed_fields, as `totals` of the contents
  std::uint64_t tokenizer = 0;            ///< Tokenizer::fingerprint() of the stored token ids; 0: none are stored
  std::int32_t max_token_ids = 0;         ///< stored per document
  bool metadata = false;                  ///< whether the segments have the field of the metadata
  std::map<std::string, std::string> user;
};

Lucene::MapStringString to_user_data(const CommitData& data);
/// nullopt for another program's index. Throws Error `invalid_data` for malformed data.
std::optional<CommitData> from_user_data(const Lucene::MapStringString& data, const std::string& place);

/// The data of a reader's commit; nullopt also for a reader of several indexes. Throws Error as from_user_data().
std::optional<CommitData> commit_data_of(const Lucene::IndexReaderPtr& reader, const std::string& place);
/// The analyzer that a reader's commit records; nothing for another program's index and a reader of several indexes.
/// Throws Error as from_user_data().
std::optional<AnalyzerKind> recorded_analyzer(const Lucene::IndexReaderPtr& reader, const std::string& place);
/// The declared fields that a reader's commit records; none for another program's index and a reader of several
/// indexes.
std::vector<fields::DeclaredField> declared_fields(const Lucene::IndexReaderPtr& reader);
/// Error `usage`: the index was built with one analyzer, but the profile names another one.
Error other_analyzer(const std::string& place, AnalyzerKind recorded, AnalyzerKind named);

/// CommitData::tokenizer of a reader's commit; 0 if unknown.
std::uint64_t tokenizer_of_token_ids(const Lucene::IndexReaderPtr& reader);

}  // namespace relucent
