#include "model/input/tokenized_batch.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>

#include "model/families/pattern.h"
#include "relucent/error.h"

namespace relucent {

namespace {

void append(std::vector<std::int32_t>& to, std::span<const std::int32_t> ids) {
  to.insert(to.end(), ids.begin(), ids.end());
}

void append_text(std::string_view words, const Tokenizer& tokenizer, std::vector<std::int32_t>& ids) {
  tokenizer.encode(words, std::numeric_limits<std::size_t>::max(), ids);
}

/// Words in which "<|im_start|>" and the like are tokens.
void append_prompt(std::string_view words, const Tokenizer& tokenizer, std::vector<std::int32_t>& ids) {
  constexpr std::string_view kOpen = "<|", kClose = "|>";
  for (std::size_t at = 0; (at = words.find(kOpen)) != words.npos;) {
    const std::string_view name = words.substr(at, words.find(kClose, at) + kClose.size() - at);
    const std::optional<std::int32_t> id = tokenizer.special_token(name);
    if (!id) {
      throw Error(ErrorKind::invalid_data, tokenizer.summary(), fmt::format("has no special token {}", name),
                  "use the tokenizer files of the same model");
    }
    append_text(words.substr(0, at), tokenizer, ids);
    ids.push_back(*id);
    words.remove_prefix(at + name.size());
  }
  append_text(words, tokenizer, ids);
}

/// The logit of a document whose chunks have these; sorts them if need be.
float combined(std::span<float> chunks, const CrossEncoderOptions& options) {
  const auto sum = [](std::span<const float> of) { return std::accumulate(of.begin(), of.end(), 0.0); };
  const auto mean = [&](std::span<const float> of) { return sum(of) / static_cast<double>(of.size()); };
  switch (options.long_documents) {
    case LongDocuments::truncate:
    case LongDocuments::firstp: return chunks.front();
    case LongDocuments::maxp: return *std::max_element(chunks.begin(), chunks.end());
    case LongDocuments::sump: return static_cast<float>(sum(chunks));
    case LongDocuments::avgp: return static_cast<float>(mean(chunks));
    case LongDocuments::topk: {
      const std::size_t count = std::min(chunks.size(), static_cast<std::size_t>(options.top_chunks));
      std::sort(chunks.begin(), chunks.end(), std::greater<>());
      return static_cast<float>(mean(chunks.first(count)));
    }
  }
  return chunks.front();
}

}  // namespace

InputTemplate::InputTemplate(const InputForm& input_form, const Tokenizer& tokenizer, const std::string& instruction)
    : form(input_form) {
  const PairTemplate& pair = tokenizer.pair_template();
  if (form.interacts) {
    if (!pair.interaction) {
      throw Error(ErrorKind::invalid_data, tokenizer.summary(),
                  "has no token [INT], through which candidates see each other",
                  "use the tokenizer files of the same model");
    }
    interaction = *pair.interaction;
  }
  if (!form.chat) first = form.decoder_start ? *form.decoder_start : pair.before.front();
  const auto ids_of = [&](const std::vector<std::string>& parts) {
    std::vector<std::int32_t> ids;
    for (const std::string& part : parts) (form.chat ? append_prompt : append_text)(part, tokenizer, ids);
    return ids;
  };
  const std::string& told = instruction.empty() ? form.instruction.usual : instruction;
  if (!told.empty()) {
    if (form.instruction.before.empty()) {
      throw Error(ErrorKind::usage, "instruction", "does not apply to this model, which is not told what to judge by",
                  "remove it, or use a decoder such as Qwen3-Reranker");
    }
    form.before_query.pop_back();
  }
  before_query = ids_of(form.before_query);
  if (!told.empty()) append_text(form.instruction.before + told + form.instruction.after, tokenizer, before_query);
  after_query = form.separators > 0 ? pair.between : ids_of(form.after_query);
  before_document = ids_of(form.before_document);
  after_document = ids_of(form.after_document);
  if (!form.chat) append(after_document, pair.after);
}

TokenizedBatch::TokenizedBatch(const InputTemplate& input, std::span<const std::int32_t> query)
    : input_(input), query_(input.before_query) {
  append(query_, query);
  append(query_, input_.after_query);
  make_positions(std::max<std::size_t>(1, tokens_before_document()));
}

void TokenizedBatch::make_positions(std::size_t tokens) {
  while (positions_.size() < tokens) {
    positions_.push_back(input_.form.first_position + static_cast<std::int32_t>(positions_.size()));
  }
}

void TokenizedBatch::add(std::span<const std::int32_t> pieces, std::size_t document, std::size_t first_piece) {
  const std::size_t begin = ids_.size();
  append(ids_, input_.before_document);
  append(ids_, pieces);
  append(ids_, input_.after_document);
  candidates_.push_back({begin, ids_.size() - begin, document, {first_piece, first_piece + pieces.size()}});
  make_positions(tokens_before_document() + candidates_.back().size);
  if (input_.sentence_start) move_sentence_starts(candidates_.back());
}

void TokenizedBatch::add_stored(StoredVectors states, std::size_t tokens, std::size_t document) {
  const std::size_t pieces = tokens - std::min(tokens, input_.before_document.size() + input_.after_document.size());
  candidates_.push_back({ids_.size(), tokens, document, {0, pieces}, 0, states});
  make_positions(tokens_before_document() + tokens);
}

void TokenizedBatch::move_sentence_starts(CandidateTokens& candidate) {
  const auto ids = std::span(ids_).subspan(candidate.begin);
  const auto positions = std::span(positions_).subspan(tokens_before_document());
  const std::size_t first = input_.before_document.size(), end = ids.size() - input_.after_document.size();
  std::vector<std::int32_t> starts, places;
  std::size_t others = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i >= first && i < end && ids[i] == *input_.sentence_start) {
      starts.push_back(ids[i]);
      places.push_back(positions[i]);
    } else {
      ids[others++] = ids[i];
      own_positions_.push_back(positions[i]);
    }
  }
  std::copy(starts.begin(), starts.end(), ids.begin() + static_cast<std::ptrdiff_t>(others));
  append(own_positions_, places);
  candidate.sentences = starts.size();
}

Segment TokenizedBatch::segment(std::int32_t group, std::span<const std::int32_t> ids, std::size_t first) const {
  return {group, ids, std::span(positions_).subspan(first, ids.size())};
}

std::vector<Segment> TokenizedBatch::shared_segments() const {
  std::vector<Segment> shared = {segment(kQuery, query_, input_.before_text())};
  if (!input_.form.chat) shared.insert(shared.begin(), segment(kCls, {&input_.first, 1}, 0));
  if (input_.form.interacts) shared.push_back(segment(kInteraction, {&input_.interaction, 1}, 1));
  return shared;
}

std::vector<std::vector<Segment>> TokenizedBatch::candidates() const {
  std::vector<std::vector<Segment>> all;
  all.reserve(candidates_.size());
  for (const CandidateTokens& candidate : candidates_) {
    std::vector<Segment>& segments = all.emplace_back();
    if (!candidate.stored.bytes.empty()) {
      segments.push_back({kDocument, {}, std::span(positions_).first(candidate.size), input_.form.document_type});
      continue;
    }
    const auto ids = std::span(ids_).subspan(candidate.begin, candidate.size);
    if (!input_.sentence_start) {
      segments.push_back(segment(kDocument, ids, input_.form.apart ? 0 : tokens_before_document()));
    } else {
      const auto positions = std::span(own_positions_).subspan(candidate.begin, candidate.size);
      const std::size_t others = candidate.size - candidate.sentences;
      segments.push_back({kDocument, ids.first(others), positions.first(others)});
      if (candidate.sentences > 0) segments.push_back({kSentences, ids.subspan(others), positions.subspan(others)});
    }
    for (Segment& segment : segments) segment.type = input_.form.document_type;
  }
  return all;
}

void TokenizedBatch::combine(std::span<const float> logits, const CrossEncoderOptions& options,
                             std::span<PairScore> documents) const {
  std::vector<float> chunks;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const std::size_t document = candidates_[i].document;
    chunks.push_back(logits[i]);
    if (i + 1 < candidates_.size() && candidates_[i + 1].document == document) continue;
    const auto best = static_cast<std::size_t>(std::max_element(chunks.begin(), chunks.end()) - chunks.begin());
    PairScore& score = documents[document];
    score.best = candidates_[i + 1 - chunks.size() + best].pieces;
    score.best.all = chunks.size() == 1 && !score.truncated;
    score.logit = combined(chunks, options);
    chunks.clear();
  }
}

std::vector<std::size_t> TokenizedBatch::passages() const {
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (i == 0 || candidates_[i].document != candidates_[i - 1].document) counts.push_back(0);
    ++counts.back();
  }
  return counts;
}

void TokenizedBatch::assign(std::span<const float> logits, std::span<PairScore> documents) const {
  std::size_t first = 0, number = 0;
  for (const std::size_t count : passages()) {
    PairScore& score = documents[candidates_[first].document];
    score.logit = logits[number++];
    score.best = candidates_[first].pieces;
    score.best.end = candidates_[first + count - 1].pieces.end;
    score.best.all = !score.truncated;
    first += count;
  }
}

}  // namespace relucent
