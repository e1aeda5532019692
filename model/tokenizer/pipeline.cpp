#include "model/tokenizer/pipeline.h"

#include <algorithm>

#include "base/utf8.h"
#include "model/tokenizer/text_cuts.h"
#include "model/tokenizer/vocabulary_trie.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr const char* kTask = "tokenizing the documents";

}  // namespace

PipelineTokenizer::PipelineTokenizer(PipelineParts parts)
    : parts_(std::move(parts)), raw_(added_tokens(false)), normalized_(added_tokens(true)) {
  may_cut_ = raw_.allows_cuts() && normalized_.allows_cuts() && parts_.pre_tokenizer &&
             parts_.pre_tokenizer->at_spaces() == PreTokenizer::AtSpaces::splits &&
             (!parts_.normalizer || parts_.normalizer->allows_cuts());
}

AddedTokens PipelineTokenizer::added_tokens(bool normalized) const {
  std::vector<AddedToken> tokens;
  std::vector<std::string> contents;
  PatternBudget budget;  // for all together
  std::size_t bytes = 0;
  for (const AddedToken& token : parts_.added) {
    if (token.normalized != normalized) continue;
    NormalizedText content{token.content, true, &budget};
    if (normalized && parts_.normalizer) parts_.normalizer->apply(content);
    bytes += content.text.size();
    if (content.text.size() > VocabularyTrie::kMaxEntryBytes || bytes > VocabularyTrie::kMaxBytes) {
      throw Error(ErrorKind::unsupported, "tokenizer.json, key added_tokens",
                  "the normalized tokens are longer than 1024 bytes, or than 16 MiB together",
                  "use a checkpoint with another tokenizer");
    }
    tokens.push_back(token);
    contents.push_back(std::move(content.text));
  }
  return {std::move(tokens), contents};
}

std::optional<std::int32_t> PipelineTokenizer::special_token(std::string_view name) const {
  for (const AddedToken& token : parts_.added) {
    if (token.special && token.content == name) return token.id;
  }
  return std::nullopt;
}

std::optional<std::int32_t> PipelineTokenizer::token_id(std::string_view name) const {
  const auto added = std::ranges::find(parts_.added, name, &AddedToken::content);
  if (added != parts_.added.end()) return added->id;
  const std::int32_t id = parts_.model->find(name);
  return id >= 0 ? std::optional(id) : std::nullopt;
}

bool PipelineTokenizer::encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
                               const StopSignal& stop) const {
  PatternBudget budget{stop};
  Output out{ids, most_ids(ids.size(), limit), stop, budget};
  std::string storage;
  for (std::size_t begin = 0; begin < text.size() && !out.full();) {
    stop.throw_if_due(kTask);
    const std::size_t end = may_cut_ ? next_cut(text, begin) : next_forced_cut(text, begin);
    encode_block(well_formed_utf8(text.substr(begin, end - begin), storage), begin == 0, out);
    begin = end;
  }
  if (!out.full()) return false;
  ids.resize(out.most);
  return true;
}

void PipelineTokenizer::encode_block(std::string_view text, bool from_start, Output& out) const {
  for (const AddedTokens::Part& part : raw_.find_all(text)) {
    if (out.full()) return;
    if (part.id >= 0) {
      out.ids.push_back(part.id);
    } else {
      encode_between(text.substr(part.range.begin, part.range.end - part.range.begin),
                     from_start && part.range.begin == 0, out);
    }
  }
}

void PipelineTokenizer::encode_between(std::string_view text, bool from_start, Output& out) const {
  NormalizedText normalized{std::string(text), from_start, &out.budget};
  if (parts_.normalizer) parts_.normalizer->apply(normalized);
  out.stop.throw_if_due(kTask);
  const std::vector<AddedTokens::Part> parts = normalized_.find_all(normalized.text);
  for (const AddedTokens::Part& part : parts) {
    if (out.full()) return;
    if (part.id >= 0) {
      out.ids.push_back(part.id);
    } else {
      const std::size_t size = part.range.end - part.range.begin;
      const bool whole = size == normalized.text.size();
      encode_pieces({whole ? std::move(normalized.text) : normalized.text.substr(part.range.begin, size),
                     {{0, size}},
                     normalized.from_start && part.range.begin == 0,
                     &out.budget},
                    out);
    }
  }
}

void PipelineTokenizer::encode_pieces(Pieces pieces, Output& out) const {
  if (parts_.pre_tokenizer) parts_.pre_tokenizer->apply(pieces);
  constexpr std::size_t kPiecesBetweenLooks = 4096;
  for (std::size_t i = 0; i < pieces.ranges.size() && !out.full(); ++i) {
    if (i % kPiecesBetweenLooks == 0) out.stop.throw_if_due(kTask);
    const TextRange& range = pieces.ranges[i];
    parts_.model->encode(std::string_view(pieces.text).substr(range.begin, range.end - range.begin), out.ids);
  }
}

}  // namespace relucent
