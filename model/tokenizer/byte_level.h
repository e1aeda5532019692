#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace relucent {

/// GPT-2's expression, with which ByteLevel splits a text into words.
inline constexpr std::string_view kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The end of the word of kByteLevelExpression that begins at `at`. `text` is well-formed UTF-8. Thread-safe.
std::size_t byte_level_word_end(std::string_view text, std::size_t at) noexcept;

/// Appends each byte as the printable character that stands for it in the vocabularies of GPT-2 and its successors.
void append_byte_level(std::string_view bytes, std::string& out);

}  // namespace relucent
