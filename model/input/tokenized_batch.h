#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/families/family.h"
#include "relucent/kernels/backend.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {

/// A model's input form with the ids of its tokenizer.
struct InputTemplate {
  /// `instruction`: empty for the model's own. Throws Error `invalid_data` if the vocabulary lacks a token that a
  /// chat's prompt names, `usage` if the model takes no instruction.
  InputTemplate(const InputForm& input_form, const Tokenizer& tokenizer, const std::string& instruction = {});

  /// Tokens in front of the query's group: [CLS], unless its place belongs to a decoder or there is none.
  std::size_t before_text() const { return form.decoder_start || form.chat ? 0 : form.interacts ? 2 : 1; }
  /// Tokens of an input besides the pieces of the query and the document.
  std::size_t special_tokens() const {
    return before_text() + before_query.size() + after_query.size() + before_document.size() + after_document.size();
  }

  InputForm form;
  std::int32_t first = 0;        ///< [CLS], or the decoder's token; none in a chat
  std::int32_t interaction = 0;  ///< of an encoder of sets whose candidates see each other through it
  std::vector<std::int32_t> before_query, after_query, before_document, after_document;
  /// If set, pieces of documents with this id start sentences and form a group of their own (kSentences).
  std::optional<std::int32_t> sentence_start = {};
};

/// A query and its candidates as token ids, and as the segments of a ScoringBatch. A document may have several
/// candidates, one per chunk.
class TokenizedBatch {
 public:
  /// `query`: its pieces, without special tokens. `input` must outlive the batch.
  TokenizedBatch(const InputTemplate& input, std::span<const std::int32_t> query);

  /// Adds a candidate with pieces of the document with number `document`, the first of which is its piece number
  /// `first_piece`. Documents' numbers must not decrease.
  void add(std::span<const std::int32_t> pieces, std::size_t document, std::size_t first_piece = 0);

  /// Adds a candidate that is given by its states, which stored() returns: its segment has neither ids nor states.
  void add_stored(StoredVectors states, std::size_t tokens, std::size_t document);

  /// The segments that all candidates share, and those of each candidate in the order added. Valid until the next
  /// add().
  std::vector<Segment> shared_segments() const;
  std::vector<std::vector<Segment>> candidates() const;

  std::size_t size() const noexcept { return candidates_.size(); }
  /// The states of a candidate that add_stored() added; of another one, no bytes.
  const StoredVectors& stored(std::size_t candidate) const { return candidates_[candidate].stored; }
  /// The number of the document that a candidate is of.
  std::size_t document_of(std::size_t candidate) const { return candidates_[candidate].document; }

  /// Computes each document's logit from those of its candidates, as options.long_documents asks, and `best`, the
  /// first candidate with the greatest one. Sums are in double.
  void combine(std::span<const float> logits, const CrossEncoderOptions& options, std::span<PairScore> documents) const;

  /// How many candidates each document of the batch has, in the order added.
  std::vector<std::size_t> passages() const;
  /// Gives each document its own logit, of all its candidates, and as `best` the range from its first to its last one.
  void assign(std::span<const float> logits, std::span<PairScore> documents) const;

 private:
  struct CandidateTokens {
    std::size_t begin, size, document;
    PieceRange pieces;
    std::size_t sentences = 0;  ///< starts of sentences, the last ones of its ids
    StoredVectors stored = {};  ///< instead of ids
  };
  std::size_t tokens_before_document() const { return input_.before_text() + query_.size(); }
  Segment segment(std::int32_t group, std::span<const std::int32_t> ids, std::size_t first) const;
  void make_positions(std::size_t tokens);
  void move_sentence_starts(CandidateTokens& candidate);

  const InputTemplate& input_;
  std::vector<std::int32_t> query_, ids_;    // with the special tokens around the pieces
  std::vector<std::int32_t> positions_;      // form.first_position and so on, for the longest candidate
  std::vector<std::int32_t> own_positions_;  // with sentences: of ids_
  std::vector<CandidateTokens> candidates_;
};

}  // namespace relucent
