#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::fields {

/// The stored field with a document's metadata.
inline constexpr const char* kMetadataField = "relucent.metadata";

enum class Kind { keyword, number, text };
std::string_view to_string(Kind kind) noexcept;

/// A key of the documents' metadata whose values become an indexed field of its name: a keyword's value one term as it
/// is, a number's the terms of number_terms.h, a text's the terms that the analyzer makes of it.
struct DeclaredField {
  std::string name;
  Kind kind = Kind::keyword;

  friend bool operator==(const DeclaredField&, const DeclaredField&) = default;
};

std::vector<DeclaredField> declared_fields(std::span<const std::string> keywords, std::span<const std::string> numbers,
                                           std::span<const std::string> texts = {});

/// A document's value of a declared field.
struct FieldValue {
  std::uint32_t field = 0;  ///< index in the list of declared fields
  std::string bytes;        ///< of a keyword, its term; of a number, bytes_of_number(); of a text, it
};

/// The values of the declared fields in `metadata`, an object in JSON, or empty. A key that is absent or null has none,
/// an array has those of its elements. Throws Error `invalid_data` for values of another kind, numbers beyond 2^53,
/// keywords of more than kMaxKeyword characters and for what is not such an object; it names `id` and the key.
std::vector<FieldValue> values_of(std::span<const DeclaredField> declared, std::string_view metadata,
                                  std::string_view id);

inline constexpr std::size_t kMaxKeyword = 16383;  ///< characters; Lucene skips longer terms

/// A keyword as its term: U+FFFF, Lucene++'s end-of-buffer mark, becomes U+FFFD.
std::string keyword_term(std::string text);

}  // namespace relucent::fields
