// A new key is a field and a row of the schema. A row without a field does not compile; a field without a row, which
// no profile could set, is found here.
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

#include "config/schema.h"

namespace relucent::config {

/// Initializes a field of any type, or a base that is not `Whole` itself.
template <class Whole>
struct AnyField {
  template <class Field>
  requires(!std::same_as<Field, Whole> && !std::derived_from<Field, Whole>) operator Field&()
      const;  // NOLINT(google-explicit-constructor): initializes
};

namespace {

template <class Whole, std::size_t... Fields>
constexpr bool has_as_many(std::index_sequence<Fields...>) {
  return requires { Whole{(static_cast<void>(Fields), AnyField<Whole>{})...}; };
}

/// The number of an aggregate's fields, its base counting as one.
template <class Whole, std::size_t Count = 64>
constexpr std::size_t count_fields() {
  if constexpr (has_as_many<Whole>(std::make_index_sequence<Count>())) {
    return Count;
  } else {
    return count_fields<Whole, Count - 1>();
  }
}

std::ptrdiff_t rows_of(std::string_view section) {
  return std::ranges::count_if(schema(), [&](const Key& key) { return key.section == section; });
}

TEST(ConfigSchema, HasARowForEveryField) {
  EXPECT_EQ(rows_of("index"), count_fields<IndexConfig>());
  EXPECT_EQ(rows_of("first_stage"), count_fields<FirstStageConfig>());
  constexpr std::size_t scorer = count_fields<TextReading>() + count_fields<ScorerConfig>() - 1;
  constexpr std::size_t stage = scorer + count_fields<StageConfig>() - 1;
  EXPECT_EQ(rows_of("rescorer"), stage + count_fields<SecondStageConfig>() - 1 - 1) << "and [[rescorer.stages]]";
  EXPECT_EQ(rows_of("log"), count_fields<LogConfig>());
  EXPECT_EQ(rows_of("server"), count_fields<ServerConfig>());
  EXPECT_EQ(std::ranges::count_if(schema(), [](const Key& key) { return bool(key.set_of_stage); }), stage);
}

}  // namespace
}  // namespace relucent::config
