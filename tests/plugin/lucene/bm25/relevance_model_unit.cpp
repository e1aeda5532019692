// Which terms of a document RM3 takes, and for which of them it has to look into the index.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>

#include "plugin/lucene/bm25/relevance_model.h"

namespace relucent::bm25 {
namespace {

TEST(BestTerms, AreTheMostFrequentAndAmongEqualOnesTheFirst) {
  const auto any = [](const std::wstring&) { return true; };
  const WeightedTerms terms{{L"a", 2}, {L"b", 3}, {L"c", 2}, {L"d", 3}};
  EXPECT_EQ(best_terms(terms, 3, any), (WeightedTerms{{L"a", 2}, {L"b", 3}, {L"d", 3}}));
  EXPECT_EQ(best_terms(terms, 9, any), terms);
  EXPECT_TRUE(best_terms(terms, 0, any).empty());
}

TEST(BestTerms, AreAskedForOnlyUntilEnoughAreFound) {
  std::vector<std::wstring> asked;
  const auto all_but_b = [&](const std::wstring& term) {
    asked.push_back(term);
    return term != L"b";
  };
  const WeightedTerms terms{{L"a", 1}, {L"b", 3}, {L"c", 2}, {L"d", 3}, {L"e", 1}};
  EXPECT_EQ(best_terms(terms, 2, all_but_b), (WeightedTerms{{L"c", 2}, {L"d", 3}}));
  EXPECT_EQ(asked, (std::vector<std::wstring>{L"b", L"d", L"c"}));
}

TEST(BestTerms, AreThoseOfTheTermsThatMayBeTaken) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same cases each time
  const auto may_take = [](const std::wstring& term) { return (term[0] + term[1]) % 3 != 0; };
  for (int round = 0; round < 500; ++round) {
    WeightedTerms terms, taken;
    for (std::uint32_t i = random() % 40; i > 0; --i) {
      ++terms[{static_cast<wchar_t>(L'a' + random() % 6), static_cast<wchar_t>(L'a' + random() % 6)}];
    }
    std::ranges::copy_if(terms, std::inserter(taken, taken.end()),
                         [&](const auto& term) { return may_take(term.first); });
    const std::size_t count = random() % 12;
    EXPECT_EQ(best_terms(terms, count, may_take), best_terms(taken, count, [](const std::wstring&) { return true; }));
  }
}

}  // namespace
}  // namespace relucent::bm25
