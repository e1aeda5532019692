#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

/// Numbers as terms, as Lucene 3's NumericField writes a double with a precision step of 4: the number and its
/// prefixes, so that a range is a union of few terms.
namespace relucent::fields {

inline constexpr int kPrecisionStep = 4;

/// A number in JSON that can be indexed: up to 2^53, so that whole numbers are exact. Nothing if it is beyond.
std::optional<double> exact_number(const nlohmann::json& value);

/// Eight bytes with the order of the numbers; -0 is 0.
std::string bytes_of_number(double number);
/// The signed number with the order of the numbers, as Lucene's NumericUtils.
std::int64_t sortable(double number) noexcept;

/// Calls `use` for each term of a number, given as bytes_of_number().
void each_term(std::string_view number, const std::function<void(std::string_view term)>& use);

/// The term of all numbers whose sortable() has the same bits from `shift` on.
std::string prefix_term(std::int64_t number, int shift);

/// Calls `use` with the first and the last of consecutive terms, for each of the few runs of terms that together are of
/// the numbers from `low` to `high`, both included, as sortable().
void each_run(std::int64_t low, std::int64_t high,
              const std::function<void(const std::string& first, const std::string& last)>& use);

}  // namespace relucent::fields
