#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>

#include "relucent/config.h"

namespace relucent::config {

/// The names of an enumeration's values in profiles, in the order of the values.
template <class Enum>
inline constexpr std::string_view kNames[1] = {};

template <>
inline constexpr std::string_view kNames<ScoreMode>[] = {"replace", "total", "multiply", "avg", "max", "min"};
template <>
inline constexpr std::string_view kNames<Normalize>[] = {"none", "minmax", "sigmoid"};
template <>
inline constexpr std::string_view kNames<FirstStageScoring>[] = {"bm25", "qld", "qljm"};
template <>
inline constexpr std::string_view kNames<OnError>[] = {"first_stage", "previous_stage", "fail"};
template <>
inline constexpr std::string_view kNames<MissingEmbeddings>[] = {"error", "encode"};
template <>
inline constexpr std::string_view kNames<LongDocuments>[] = {"truncate", "maxp", "firstp", "sump", "avgp", "topk"};
template <>
inline constexpr std::string_view kNames<PatternChoice>[] = {"checkpoint", "full", "local",
                                                             "longformer", "qds",  "sparse"};
template <>
inline constexpr std::string_view kNames<ChunkBy>[] = {"tokens", "sentences"};
template <>
inline constexpr std::string_view kNames<KeepChunks>[] = {"query", "first"};
template <>
inline constexpr std::string_view kNames<IndexCheck>[] = {"none", "structure", "checksums"};
template <>
inline constexpr std::string_view kNames<AnalyzerKind>[] = {
    "english", "whitespace", "standard", "simple",  "arabic",     "bengali", "chinese",  "dutch",
    "finnish", "french",     "german",   "hindi",   "indonesian", "italian", "japanese", "korean",
    "persian", "portuguese", "russian",  "spanish", "swedish",    "thai",    "turkish"};
template <>
inline constexpr std::string_view kNames<FallbackDevice>[] = {"cpu", "none"};
template <>
inline constexpr std::string_view kNames<MissingGraphs>[] = {"error", "make"};
template <>
inline constexpr std::string_view kNames<LogLevel>[] = {"trace", "debug", "info", "warning", "error", "off"};

template <>
inline constexpr auto kNames<Precision> = [] {
  std::array<std::string_view, kPrecisionNames.size()> names;
  std::ranges::transform(kPrecisionNames, names.begin(), [](const auto& named) { return named.second; });
  return names;
}();

template <class Enum>
constexpr std::string_view name_of(Enum value) noexcept {
  const auto number = static_cast<std::size_t>(value);
  return number < std::size(kNames<Enum>) ? kNames<Enum>[number] : "";
}

template <class Enum>
constexpr std::optional<Enum> value_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kNames<Enum>, name);
  if (found == std::end(kNames<Enum>)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(kNames<Enum>));
}

}  // namespace relucent::config
