#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::server {

/// The bearer tokens that a request may show.
class Tokens {
 public:
  Tokens() = default;
  /// Throws Error `usage` for an empty one, and one with characters that a header cannot hold; not naming it.
  explicit Tokens(std::vector<std::string> tokens, std::string_view source);

  /// Those in `file`, one per line; without a file those in $RELUCENT_TOKEN, or none. Throws Error, also for a file
  /// without tokens or readable by everybody.
  static Tokens load(const std::string& file);

  bool required() const noexcept { return !tokens_.empty(); }
  /// Empty if there is none.
  std::string first() const { return tokens_.empty() ? std::string() : tokens_.front(); }
  std::size_t count() const noexcept { return tokens_.size(); }
  /// The number of the token in "Bearer TOKEN"; nullopt if it is none of these. Takes the same time for every wrong
  /// token of one length.
  std::optional<std::size_t> find(std::string_view authorization) const noexcept;

 private:
  std::vector<std::string> tokens_;
};

}  // namespace relucent::server
