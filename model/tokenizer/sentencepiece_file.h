#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace relucent {

/// What the SentencePiece library does not tell about a model.
struct SentencePieceFile {
  bool may_cut = false;                 ///< a text may be cut (text_cuts.h) and its parts encoded one by one
  std::size_t longest_replacement = 0;  ///< in bytes
};

/// Checks what the library trusts: the frame of the protocol buffer, the pieces, the table of replacements. Throws
/// Error `invalid_data` naming the file and the byte or piece.
SentencePieceFile check_sentencepiece_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace relucent
