#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "relucent/config.h"

namespace relucent::config {

/// The names of an enumeration's values in profiles.
template <class Enum>
struct Names;

template <>
struct Names<ScoreMode> {
  static constexpr std::array<std::pair<ScoreMode, std::string_view>, 6> kAll{{{ScoreMode::replace, "replace"},
                                                                               {ScoreMode::total, "total"},
                                                                               {ScoreMode::multiply, "multiply"},
                                                                               {ScoreMode::avg, "avg"},
                                                                               {ScoreMode::max, "max"},
                                                                               {ScoreMode::min, "min"}}};
};

template <>
struct Names<Normalize> {
  static constexpr std::array<std::pair<Normalize, std::string_view>, 3> kAll{
      {{Normalize::none, "none"}, {Normalize::minmax, "minmax"}, {Normalize::sigmoid, "sigmoid"}}};
};

template <>
struct Names<FirstStageScoring> {
  static constexpr std::array<std::pair<FirstStageScoring, std::string_view>, 3> kAll{
      {{FirstStageScoring::bm25, "bm25"}, {FirstStageScoring::qld, "qld"}, {FirstStageScoring::qljm, "qljm"}}};
};

template <>
struct Names<OnError> {
  static constexpr std::array<std::pair<OnError, std::string_view>, 3> kAll{
      {{OnError::first_stage, "first_stage"}, {OnError::previous_stage, "previous_stage"}, {OnError::fail, "fail"}}};
};

template <>
struct Names<MissingEmbeddings> {
  static constexpr std::array<std::pair<MissingEmbeddings, std::string_view>, 2> kAll{
      {{MissingEmbeddings::error, "error"}, {MissingEmbeddings::encode, "encode"}}};
};

template <>
struct Names<LongDocuments> {
  static constexpr std::array<std::pair<LongDocuments, std::string_view>, 6> kAll{
      {{LongDocuments::truncate, "truncate"},
       {LongDocuments::maxp, "maxp"},
       {LongDocuments::firstp, "firstp"},
       {LongDocuments::sump, "sump"},
       {LongDocuments::avgp, "avgp"},
       {LongDocuments::topk, "topk"}}};
};

template <>
struct Names<PatternChoice> {
  static constexpr std::array<std::pair<PatternChoice, std::string_view>, 6> kAll{
      {{PatternChoice::checkpoint, "checkpoint"},
       {PatternChoice::full, "full"},
       {PatternChoice::local, "local"},
       {PatternChoice::longformer, "longformer"},
       {PatternChoice::qds, "qds"},
       {PatternChoice::sparse, "sparse"}}};
};

template <>
struct Names<ChunkBy> {
  static constexpr std::array<std::pair<ChunkBy, std::string_view>, 2> kAll{
      {{ChunkBy::tokens, "tokens"}, {ChunkBy::sentences, "sentences"}}};
};
template <>
struct Names<KeepChunks> {
  static constexpr std::array<std::pair<KeepChunks, std::string_view>, 2> kAll{
      {{KeepChunks::query, "query"}, {KeepChunks::first, "first"}}};
};

template <>
struct Names<IndexCheck> {
  static constexpr std::array<std::pair<IndexCheck, std::string_view>, 3> kAll{
      {{IndexCheck::none, "none"}, {IndexCheck::structure, "structure"}, {IndexCheck::checksums, "checksums"}}};
};

template <>
struct Names<AnalyzerKind> {
  static constexpr std::array<std::pair<AnalyzerKind, std::string_view>, 23> kAll{
      {{AnalyzerKind::english, "english"},       {AnalyzerKind::whitespace, "whitespace"},
       {AnalyzerKind::standard, "standard"},     {AnalyzerKind::simple, "simple"},
       {AnalyzerKind::arabic, "arabic"},         {AnalyzerKind::bengali, "bengali"},
       {AnalyzerKind::chinese, "chinese"},       {AnalyzerKind::dutch, "dutch"},
       {AnalyzerKind::finnish, "finnish"},       {AnalyzerKind::french, "french"},
       {AnalyzerKind::german, "german"},         {AnalyzerKind::hindi, "hindi"},
       {AnalyzerKind::indonesian, "indonesian"}, {AnalyzerKind::italian, "italian"},
       {AnalyzerKind::japanese, "japanese"},     {AnalyzerKind::korean, "korean"},
       {AnalyzerKind::persian, "persian"},       {AnalyzerKind::portuguese, "portuguese"},
       {AnalyzerKind::russian, "russian"},       {AnalyzerKind::spanish, "spanish"},
       {AnalyzerKind::swedish, "swedish"},       {AnalyzerKind::thai, "thai"},
       {AnalyzerKind::turkish, "turkish"}}};
};

template <>
struct Names<FallbackDevice> {
  static constexpr std::array<std::pair<FallbackDevice, std::string_view>, 2> kAll{
      {{FallbackDevice::cpu, "cpu"}, {FallbackDevice::none, "none"}}};
};

template <>
struct Names<MissingGraphs> {
  static constexpr std::array<std::pair<MissingGraphs, std::string_view>, 2> kAll{
      {{MissingGraphs::error, "error"}, {MissingGraphs::make, "make"}}};
};

template <>
struct Names<LogLevel> {
  static constexpr std::array<std::pair<LogLevel, std::string_view>, 6> kAll{{{LogLevel::trace, "trace"},
                                                                              {LogLevel::debug, "debug"},
                                                                              {LogLevel::info, "info"},
                                                                              {LogLevel::warning, "warning"},
                                                                              {LogLevel::error, "error"},
                                                                              {LogLevel::off, "off"}}};
};

template <>
struct Names<Precision> {
  static constexpr auto kAll = kPrecisionNames;
};

template <class Enum>
constexpr std::string_view name_of(Enum value) noexcept {
  for (const auto& [candidate, name] : Names<Enum>::kAll) {
    if (candidate == value) return name;
  }
  return "";
}

template <class Enum>
constexpr std::optional<Enum> value_named(std::string_view name) noexcept {
  for (const auto& [value, candidate] : Names<Enum>::kAll) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

}  // namespace relucent::config
