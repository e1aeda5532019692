#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace relucent {

struct SentencePiecePiece {
  enum class Type { normal = 1, unknown = 2, control = 3, user_defined = 4 };
  std::string_view text;
  float score = 0;
  Type type = Type::normal;
};

/// What a model holds. Views are into its bytes.
struct SentencePieceFile {
  bool may_cut = false;  ///< a text may be cut (text_cuts.h) and its parts encoded one by one
  bool unigram = true;   ///< rather than BPE, words or characters
  std::vector<SentencePiecePiece> pieces;
  std::string_view charsmap;  ///< the table of replacements; may be empty
};

/// Checks what the library trusts: the frame of the protocol buffer, the pieces, the table of replacements. Throws
/// Error `invalid_data` naming the file and the byte or piece.
SentencePieceFile check_sentencepiece_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace relucent
