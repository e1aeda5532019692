#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "relucent/config.h"

namespace relucent::config {

/// The names of an enumeration's values in profiles.
template <class Enum>
struct Names;

template <>
struct Names<ScoreMode> {
  static constexpr std::array<std::pair<ScoreMode, std::string_view>, 6> all{{{ScoreMode::replace, "replace"},
                                                                              {ScoreMode::total, "total"},
                                                                              {ScoreMode::multiply, "multiply"},
                                                                              {ScoreMode::avg, "avg"},
                                                                              {ScoreMode::max, "max"},
                                                                              {ScoreMode::min, "min"}}};
};

template <>
struct Names<Normalize> {
  static constexpr std::array<std::pair<Normalize, std::string_view>, 3> all{
      {{Normalize::none, "none"}, {Normalize::minmax, "minmax"}, {Normalize::sigmoid, "sigmoid"}}};
};

template <>
struct Names<OnError> {
  static constexpr std::array<std::pair<OnError, std::string_view>, 2> all{
      {{OnError::first_stage, "first_stage"}, {OnError::fail, "fail"}}};
};

template <>
struct Names<LongDocumentMode> {
  static constexpr std::array<std::pair<LongDocumentMode, std::string_view>, 4> all{
      {{LongDocumentMode::truncate, "truncate"},
       {LongDocumentMode::maxp, "maxp"},
       {LongDocumentMode::firstp, "firstp"},
       {LongDocumentMode::sump, "sump"}}};
};

template <>
struct Names<IndexCheck> {
  static constexpr std::array<std::pair<IndexCheck, std::string_view>, 3> all{
      {{IndexCheck::none, "none"}, {IndexCheck::structure, "structure"}, {IndexCheck::checksums, "checksums"}}};
};

template <class Enum>
constexpr std::string_view name_of(Enum value) noexcept {
  for (const auto& [candidate, name] : Names<Enum>::all) {
    if (candidate == value) return name;
  }
  return "";
}

}  // namespace relucent::config
