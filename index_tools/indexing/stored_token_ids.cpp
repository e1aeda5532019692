#include "index_tools/indexing/stored_token_ids.h"

#include <LuceneHeaders.h>
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string_view>

#include "base/checksum.h"
#include "index_tools/indexing/progress.h"
#include "plugin/index_format/token_ids.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/commit_data.h"
#include "relucent/error.h"
#include "relucent/index_reader.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/stored_text.h"

namespace relucent::index_tools {
namespace {

/// The model's tokenizer if it has the fingerprint, else null.
std::shared_ptr<const Tokenizer> tokenizer_with(std::uint64_t fingerprint, const std::filesystem::path& model) {
  try {
    auto tokenizer = load_checkpoint_tokenizer(model_folder(model)).tokenizer;
    return tokenizer->fingerprint() == fingerprint ? tokenizer : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

std::optional<std::string> stored_bytes(const Lucene::DocumentPtr& document) {
  const Lucene::FieldablePtr stored = document->getFieldable(to_lucene(kTokenIdsField));
  if (!stored || !stored->isBinary() || !stored->getBinaryValue()) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(stored->getBinaryValue().get()) + stored->getBinaryOffset(),
                     static_cast<std::size_t>(stored->getBinaryLength()));
}

void read_all(const Lucene::IndexReaderPtr& reader, const IndexConfig& fields, const TokenIdEncoder& maker, bool quiet,
              StoredTokenIds& result) {
  Progress progress("reading token ids", Progress::Unit::documents, reader->maxDoc(), quiet);
  std::string made;
  for (std::int32_t i = 0; i < reader->maxDoc(); ++i) {
    progress.update(0, i);
    if (reader->isDeleted(i)) continue;
    const Lucene::DocumentPtr document = reader->document(i);
    const auto stored = stored_bytes(document);
    const auto ids = stored ? relucent::read_token_ids(*stored) : std::nullopt;
    if (!ids) {
      result.unreadable.add(fmt::format("document {}", i));
      continue;
    }
    ++result.documents;
    result.pieces += static_cast<std::int64_t>(ids->ids.size());
    if (!ids->all) ++result.cut;
    if (!maker.tokenizer) continue;
    write_token_ids(maker, stored_text(document, fields.text_field).value_or(""), made);
    if (made != *stored) result.different.add(fmt::format("document {}", i));
  }
}

}  // namespace

StoredTokenIds read_token_ids(const std::filesystem::path& index, const IndexConfig& fields,
                              const std::filesystem::path& model, bool quiet) {
  return with_errors(index.string(), "reading the token ids", [&] {
    StoredTokenIds result;
    const Lucene::IndexReaderPtr reader = open_reader(index);
    const auto data = from_user_data(reader->getCommitUserData(), index.string());
    if (data && data->tokenizer != 0) {
      result.tokenizer = to_hex(data->tokenizer);
      const TokenIdEncoder maker{tokenizer_with(data->tokenizer, model), data->max_token_ids};
      result.recomputed = maker.tokenizer != nullptr;
      read_all(reader, fields, maker, quiet, result);
    }
    reader->close();
    return result;
  });
}

}  // namespace relucent::index_tools
