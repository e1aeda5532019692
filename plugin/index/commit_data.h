#pragma once

#include <Lucene.h>

#include <IndexReader.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "relucent/index_builder.h"

namespace relucent {

/// What IndexBuilder writes into a commit beside the caller's own data.
struct CommitData {
  IndexConfig fields;  ///< the three field names
  AnalyzerKind analyzer = AnalyzerKind::english;
  std::string segments;  ///< bm25::segments_identity at the commit
  IndexBuilder::Totals totals;
  std::uint64_t tokenizer = 0;     ///< Tokenizer::fingerprint() of the stored token ids; 0: there are none
  std::int32_t max_token_ids = 0;  ///< stored of a document
  std::map<std::string, std::string> user;
};

Lucene::MapStringString to_user_data(const CommitData& data);
/// Nothing for an index that another program made; throws Error `invalid_data` for data that cannot be understood.
std::optional<CommitData> from_user_data(Lucene::MapStringString data, const std::string& place);

/// CommitData::tokenizer of a reader's commit; 0 also where there is no telling.
std::uint64_t tokenizer_of_token_ids(const Lucene::IndexReaderPtr& reader);

}  // namespace relucent
