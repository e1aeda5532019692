// Random collections and queries: the term-at-a-time path, the Weight and Scorer path, and a scorer that knows nothing
// of indexes give the same documents, order and bits.
#include <CachingWrapperFilter.h>
#include <DisjunctionMaxQuery.h>
#include <FilteredQuery.h>
#include <QueryWrapperFilter.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "plugin/lucene/bm25/boolean_weight.h"
#include "plugin/lucene/bm25/formula.h"
#include "plugin/lucene/bm25/skipping_postings.h"
#include "plugin/lucene/bm25/term_at_a_time.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/test_seed.h"

namespace relucent::testing {
namespace {

using Lucene::BooleanClause;
using Random = std::mt19937;

constexpr int kWords = 40;
std::string word(int i) { return "w" + std::to_string(i); }

/// Frequent words first.
int random_word(Random& random) {
  const double x = std::uniform_real_distribution<>(0, 1)(random);
  return std::min(kWords - 1, static_cast<int>(kWords * x * x * x));
}

using Tokens = std::vector<int>;

struct Collection {
  std::vector<Tokens> documents;
  std::vector<bool> deleted;
};

Collection random_collection(Random& random, std::size_t size) {
  Collection collection;
  for (std::size_t i = 0; i < size; ++i) {
    // Empty, short, and now and then long enough for a rounded length.
    const std::size_t length = random() % 20 == 0 ? 0 : random() % 25 == 0 ? random() % 3000 : random() % 30;
    auto& document = collection.documents.emplace_back();
    for (std::size_t j = 0; j < length; ++j) document.push_back(random_word(random));
  }
  collection.deleted.assign(size, false);
  return collection;
}

std::vector<TestDocument> written(const Collection& collection) {
  std::vector<TestDocument> documents;
  for (const Tokens& tokens : collection.documents) {
    std::string text;
    for (const int token : tokens) text += word(token) + " ";
    documents.push_back({"d" + std::to_string(documents.size()), text});
  }
  return documents;
}

struct SubQuery;

/// A query as this test understands it.
struct Node {
  enum Kind { term, phrase, boolean } kind = term;
  float boost = 1;
  std::vector<int> words;  ///< one of a term
  std::vector<SubQuery> clauses;
  int minimum = 0;
};

struct SubQuery {
  BooleanClause::Occur occur;
  Node query;
};

/// Scores from the token lists alone.
class Exhaustive {
 public:
  Exhaustive(const Collection& collection, float k1, float b) : collection_(collection) {
    std::int64_t tokens = 0;
    for (const Tokens& document : collection.documents) {
      documents_ += document.empty() ? 0 : 1;
      tokens += static_cast<std::int64_t>(document.size());
      for (const int w : std::set<int>(document.begin(), document.end())) ++document_frequency_[w];
    }
    const auto average = static_cast<float>(static_cast<double>(tokens) / static_cast<double>(documents_));
    factors_ = bm25::length_factors(k1, b, average);
  }

  TestHits search(const Node& query, std::size_t n, const std::function<bool(std::size_t)>& allowed = {}) const {
    const Node simplified = simple(query);
    std::vector<std::pair<float, std::int32_t>> scored;
    for (std::size_t i = 0; i < collection_.documents.size(); ++i) {
      if (collection_.deleted[i] || (allowed && !allowed(i))) continue;
      if (const auto score = this->score(simplified, 1, i)) scored.emplace_back(*score, static_cast<std::int32_t>(i));
    }
    std::ranges::sort(scored, [](const auto& x, const auto& y) {
      return x.first > y.first || (x.first == y.first && x.second < y.second);
    });
    TestHits hits{static_cast<std::int32_t>(scored.size()), {}};
    for (std::size_t i = 0; i < std::min(n, scored.size()); ++i) {
      hits.hits.push_back({scored[i].second, std::bit_cast<std::uint32_t>(scored[i].first)});
    }
    return hits;
  }

 private:
  float idf(int w) const {
    const auto found = document_frequency_.find(w);
    return bm25::inverse_document_frequency(found == document_frequency_.end() ? 0 : found->second, documents_);
  }

  std::optional<float> score_frequency(float weight, std::size_t frequency, std::size_t document) const {
    if (frequency == 0) return std::nullopt;
    const auto length = static_cast<std::int32_t>(collection_.documents[document].size());
    const float factor = factors_[bm25::length_byte(length)];
    return weight - weight / (1.0F + static_cast<float>(frequency) * factor);
  }

  static bool is_disjunction(const Node& node) {
    return node.kind == Node::boolean && node.minimum <= 1 &&
           std::ranges::all_of(node.clauses, [](const auto& clause) { return clause.occur == BooleanClause::SHOULD; });
  }

  struct Clause {
    BooleanClause::Occur occur;
    const Node* node;
    float outer;
    double term_boost;
  };

  /// A query of one clause is that clause.
  static Node simple(Node node) {
    for (auto& [occur, part] : node.clauses) part = simple(std::move(part));
    if (node.kind != Node::boolean || node.minimum != 0 || node.clauses.size() != 1 ||
        node.clauses[0].occur == BooleanClause::MUST_NOT) {
      return node;
    }
    Node only = std::move(node.clauses[0].query);
    only.boost *= node.boost;
    return only;
  }

  void gather(const Node& node, float boost, std::vector<Clause>& out) const {
    for (const auto& [occur, part] : node.clauses) {
      if (is_disjunction(node) && is_disjunction(part)) {
        gather(part, boost * part.boost, out);
        continue;
      }
      const double own = boost * part.boost;
      if (part.kind == Node::term && occur != BooleanClause::MUST_NOT) {
        const auto same = std::ranges::find_if(out, [&, as = occur, &term = part](const Clause& other) {
          return other.occur == as && other.node->kind == Node::term && other.node->words == term.words;
        });
        const bool joined = occur == BooleanClause::MUST || node.minimum <= 1;
        if (joined && same != out.end()) {
          same->term_boost += own;
          continue;
        }
      }
      out.push_back({occur, &part, boost, own});
    }
  }

  std::optional<float> score(const Node& node, float outer, std::size_t document) const {
    const Tokens& tokens = collection_.documents[document];
    const float boost = outer * node.boost;
    if (node.kind == Node::term) {
      return score_frequency(boost * idf(node.words[0]),
                             static_cast<std::size_t>(std::ranges::count(tokens, node.words[0])), document);
    }
    if (node.kind == Node::phrase) {
      std::size_t frequency = 0;
      double sum = 0;
      for (const int w : node.words) sum += idf(w);
      for (std::size_t i = 0; i + node.words.size() <= tokens.size(); ++i) {
        frequency += std::equal(node.words.begin(), node.words.end(), tokens.begin() + static_cast<std::ptrdiff_t>(i));
      }
      return score_frequency(boost * static_cast<float>(sum), frequency, document);
    }
    std::vector<Clause> clauses;
    gather(node, boost, clauses);
    double required = 0, optional = 0;
    int matching = 0;
    bool any_required = false;
    for (const Clause& clause : clauses) {
      const bool is_term = clause.node->kind == Node::term && clause.occur != BooleanClause::MUST_NOT;
      const auto part =
          is_term
              ? score_frequency(static_cast<float>(clause.term_boost) * idf(clause.node->words[0]),
                                static_cast<std::size_t>(std::ranges::count(tokens, clause.node->words[0])), document)
              : score(*clause.node, clause.outer, document);
      if (clause.occur == BooleanClause::MUST_NOT) {
        if (part) return std::nullopt;
      } else if (clause.occur == BooleanClause::MUST) {
        if (!part) return std::nullopt;
        any_required = true;
        required += *part;
      } else if (part) {
        ++matching;
        optional += *part;
      }
    }
    if (matching < node.minimum || (!any_required && matching == 0)) return std::nullopt;
    const auto must = static_cast<float>(required), should = static_cast<float>(optional);
    if (!any_required) return should;
    if (matching == 0) return must;
    return node.minimum > 0 ? static_cast<float>(static_cast<double>(must) + should) : must + should;
  }

  const Collection& collection_;
  std::int64_t documents_ = 0;
  std::map<int, std::int64_t> document_frequency_;
  std::array<float, 256> factors_;
};

float random_boost(Random& random) {
  constexpr float boosts[] = {1, 1, 1, 1, 2, 0.5F, 3, 0.25F};  // exact, so that the order of products does not matter
  return boosts[random() % std::size(boosts)];
}

Node random_term(Random& random) {
  Node node;
  node.boost = random_boost(random);
  node.words = {random() % 15 == 0 ? kWords + 5 : random_word(random)};  // now and then one that nobody has
  return node;
}

Node random_flat(Random& random) {
  if (random() % 8 == 0) return random_term(random);
  Node node;
  node.kind = Node::boolean;
  node.boost = random_boost(random);
  const std::size_t terms = 1 + random() % 12;
  for (std::size_t i = 0; i < terms; ++i) node.clauses.push_back({BooleanClause::SHOULD, random_term(random)});
  if (random() % 3 == 0) node.clauses.push_back({BooleanClause::SHOULD, random_flat(random)});
  return node;
}

Node random_structured(Random& random, int depth) {
  Node node;
  const auto kind = random() % 10;
  if (depth == 0 || kind < 3) return random_term(random);
  node.boost = random_boost(random);
  if (kind < 5) {
    node.kind = Node::phrase;
    do {
      node.words.push_back(random_word(random));
    } while (node.words.size() < 2 || random() % 3 == 0);
    return node;
  }
  node.kind = Node::boolean;
  const std::size_t clauses = 1 + random() % 4;
  int optional = 0;
  for (std::size_t i = 0; i < clauses; ++i) {
    const auto pick = random() % 6;
    const auto occur = pick < 3 ? BooleanClause::SHOULD : pick < 5 ? BooleanClause::MUST : BooleanClause::MUST_NOT;
    optional += occur == BooleanClause::SHOULD ? 1 : 0;
    node.clauses.push_back({occur, random_structured(random, depth - 1)});
  }
  if (optional > 1 && random() % 3 == 0) node.minimum = 1 + static_cast<int>(random() % 2);
  return node;
}

Lucene::QueryPtr to_query(const Node& node) {
  Lucene::QueryPtr query;
  if (node.kind == Node::term) {
    query = term_query(word(node.words[0]));
  } else if (node.kind == Node::phrase) {
    const auto phrase = Lucene::newLucene<Lucene::PhraseQuery>();
    for (const int w : node.words) phrase->add(Lucene::newLucene<Lucene::Term>(L"contents", to_lucene(word(w))));
    query = phrase;
  } else {
    const auto boolean = Lucene::newLucene<Lucene::BooleanQuery>();
    for (const auto& [occur, part] : node.clauses) boolean->add(to_query(part), occur);
    boolean->setMinimumNumberShouldMatch(node.minimum);
    query = boolean;
  }
  query->setBoost(node.boost);
  return query;
}

void delete_some(const std::filesystem::path& index, Collection& collection, Random& random) {
  const auto reader = Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(index.string())), false);
  for (std::size_t i = 0; i < collection.documents.size(); ++i) {
    if (random() % 5 != 0) continue;
    collection.deleted[i] = true;
    reader->deleteDocument(static_cast<std::int32_t>(i));
  }
  reader->close();
}

/// Calls use(collection, folder, k1, b) for indexes of both writers, of one and several segments, with and without
/// deletions.
void for_each_index(unsigned seed,
                    const std::function<void(const Collection&, const std::filesystem::path&, float, float)>& use) {
  Random random(seed_for_run(seed));
  for (const bool own : {true, false}) {
    for (const std::size_t segment : {std::size_t{100000}, std::size_t{700}}) {
      for (const bool deletions : {false, true}) {
        SCOPED_TRACE(std::string(own ? "own" : "stock") + (segment > 700 ? ", one segment" : ", several segments") +
                     (deletions ? ", deletions" : ""));
        TemporaryFolder folder;
        Collection collection = random_collection(random, 2500);
        own ? write_own(folder.path(), written(collection), segment)
            : write_stock(folder.path(), written(collection), segment);
        if (deletions) delete_some(folder.path(), collection, random);
        use(collection, folder.path(), deletions ? 1.2F : 0.9F, deletions ? 0.75F : 0.4F);
      }
    }
  }
}

std::int32_t random_size(Random& random) {
  constexpr std::int32_t sizes[] = {1, 2, 10, 100, 1000, 1000000};
  return sizes[random() % std::size(sizes)];
}

TEST(FirstStagePaths, FlatQueriesGiveTheSameBitsOnBothPathsAndExhaustively) {
  Random random(seed_for_run(11));
  for_each_index(1, [&](const Collection& collection, const auto& folder, float k1, float b) {
    const Exhaustive exhaustive(collection, k1, b);
    const auto searcher = open_bm25(folder, k1, b);
    for (int i = 0; i < 60; ++i) {
      const Node node = random_flat(random);
      const auto query = to_query(node);
      const std::int32_t n = random_size(random);
      const TestHits wanted = exhaustive.search(node, static_cast<std::size_t>(n));
      ASSERT_TRUE(search(searcher, query, n) == wanted) << to_utf8(query->toString()) << " n=" << n;
      ASSERT_TRUE(search_generally(searcher, query, n) == wanted) << to_utf8(query->toString()) << " n=" << n;
    }
  });
}

/// More documents than the windows in which terms are added up.
TEST(FirstStagePaths, SeveralWindowsGiveTheExhaustiveBits) {
  Random random(seed_for_run(18));
  Collection collection;
  for (int i = 0; i < 80000; ++i) {
    auto& document = collection.documents.emplace_back();
    // Stretches of documents with nothing but one word, so that some windows and groups are never touched.
    const bool rare = i / 3000 % 4 != 0;
    for (std::size_t j = random() % 6; j > 0; --j) document.push_back(rare ? 0 : random_word(random));
  }
  collection.deleted.assign(collection.documents.size(), false);
  TemporaryFolder folder;
  write_own(folder.path(), written(collection), 75000);
  for (const bool deletions : {false, true}) {
    if (deletions) delete_some(folder.path(), collection, random);
    const Exhaustive exhaustive(collection, 0.9F, 0.4F);
    const auto searcher = open_bm25(folder.path());
    for (int i = 0; i < 12; ++i) {
      const Node node = random_flat(random);
      const std::int32_t n = random_size(random);
      const TestHits wanted = exhaustive.search(node, static_cast<std::size_t>(n));
      ASSERT_TRUE(search(searcher, to_query(node), n) == wanted) << to_utf8(to_query(node)->toString());
      ASSERT_TRUE(search_generally(searcher, to_query(node), n) == wanted);
    }
    const auto filter = Lucene::newLucene<Lucene::QueryWrapperFilter>(term_query(word(7)));
    const auto allowed = [&](std::size_t document) {
      return std::ranges::count(collection.documents[document], 7) > 0;
    };
    const Node node = random_flat(random);
    ASSERT_TRUE(search(searcher, to_query(node), 30, filter) == exhaustive.search(node, 30, allowed));
  }
}

/// Documents for which a few hits decide early, so that frequent terms are skipped: many equal ones (ties), and now and
/// then a word that a document repeats hundreds of times.
Collection skippable_collection(Random& random, std::size_t size) {
  Collection collection;
  std::vector<Tokens> kinds;
  for (int i = 0; i < 300; ++i) {
    auto& kind = kinds.emplace_back();
    for (std::size_t j = 1 + random() % 12; j > 0; --j) kind.push_back(random_word(random) / 2);
    if (i % 50 == 0) kind.insert(kind.end(), 200 + random() % 400, random_word(random) / 2);
  }
  for (std::size_t i = 0; i < size; ++i) {
    auto& document = collection.documents.emplace_back(kinds[random() % (random() % 3 == 0 ? 300 : 20)]);
    if (random() % 200 == 0) document.push_back(kWords / 2 + static_cast<int>(random() % (kWords / 2)));
  }
  collection.deleted.assign(size, false);
  return collection;
}

TEST(FirstStagePaths, SkippingGivesTheExhaustiveBitsCountsAndOrderOfTies) {
  Random random(seed_for_run(19));
  Collection collection = skippable_collection(random, 50000);
  TemporaryFolder folder;
  write_own(folder.path(), written(collection), 40000);
  for (const bool deletions : {false, true}) {
    if (deletions) delete_some(folder.path(), collection, random);
    const Exhaustive exhaustive(collection, 0.9F, 0.4F);
    const auto searcher = open_bm25(folder.path());
    for (int i = 0; i < 40; ++i) {
      Node node;
      node.kind = Node::boolean;
      const std::size_t terms = 1 + random() % 6;
      for (std::size_t j = 0; j < terms; ++j) {
        node.clauses.push_back({BooleanClause::SHOULD, random_term(random)});
        Node& part = node.clauses.back().query;
        if (j == 0) part.words = {static_cast<int>(random() % 3)};  // frequent
        if (i % 5 == 0) part.boost = j == 0 ? 1 : 1e-12F;           // so far apart that the order of additions counts
      }
      for (const std::int32_t n : {1, 7, 100, 1000}) {
        const TestHits wanted = exhaustive.search(node, static_cast<std::size_t>(n));
        ASSERT_TRUE(search(searcher, to_query(node), n) == wanted) << to_utf8(to_query(node)->toString()) << " n=" << n;
      }
      const auto filter = Lucene::newLucene<Lucene::QueryWrapperFilter>(term_query(word(4)));
      const auto allowed = [&](std::size_t document) {
        return std::ranges::count(collection.documents[document], 4) > 0;
      };
      ASSERT_TRUE(search(searcher, to_query(node), 10, filter) == exhaustive.search(node, 10, allowed));
    }
  }
}

/// What is found without counting: the same hits, and `count` or the number of hits asked for as the total.
void expect_skipped(const boost::shared_ptr<BM25Searcher>& searcher, const Lucene::QueryPtr& query, std::int32_t n,
                    std::int32_t count, const TestHits& wanted, int& skipped) {
  const auto top = boost::static_pointer_cast<Lucene::Searcher>(searcher)->search(query, Lucene::FilterPtr(), n);
  const TestHits found = plain(top);
  ASSERT_TRUE(found.hits == wanted.hits) << to_utf8(query->toString()) << " n=" << n << " count=" << count;
  if (boost::dynamic_pointer_cast<AtLeastTopDocs>(top) == nullptr) {
    ASSERT_EQ(found.total, wanted.total) << to_utf8(query->toString());
  } else {
    ++skipped;
    ASSERT_EQ(found.total, std::max(n, count));
    ASSERT_LE(found.total, wanted.total) << to_utf8(query->toString());
  }
}

TEST(FirstStagePaths, WithoutCountingTheHitsAreTheSame) {
  Random random(seed_for_run(23));
  int skipped = 0;
  for (const std::size_t segment : {std::size_t{100000}, std::size_t{30000}}) {
    Collection collection;
    for (int i = 0; i < 60000; ++i) {
      auto& document = collection.documents.emplace_back();
      // Copies have equal scores, so the smallest documents of them are hits, wherever they are found.
      if (i >= 1000 && random() % 3 == 0) {
        document = collection.documents[random() % 1000];
        continue;
      }
      // A frequency around the largest for which PostingRanges has room in a posting.
      if (i % 5000 == 2500) document.assign(16381 + static_cast<std::size_t>(i / 5000 % 5), i / 5000 % 3);
      // Words of all frequencies, from one document in three to one in thousands.
      for (int word = 0; word < kWords; ++word) {
        const double often = 0.35 * std::pow(0.82, word);
        while (std::uniform_real_distribution<>(0, 1)(random) < often) document.push_back(word);
      }
    }
    collection.deleted.assign(collection.documents.size(), false);
    TemporaryFolder folder;
    write_own(folder.path(), written(collection), segment);
    for (const bool deletions : {false, true}) {
      if (deletions) delete_some(folder.path(), collection, random);
      const Exhaustive exhaustive(collection, 0.9F, 0.4F);
      const std::int32_t count = deletions ? 1 : 1000;
      const auto searcher = open_bm25(folder.path(), 0.9, 0.4, count);
      for (int i = 0; i < 60; ++i) {
        Node node;
        node.kind = Node::boolean;
        const std::size_t terms = 1 + random() % 5;
        for (std::size_t j = 0; j < terms; ++j) {
          node.clauses.push_back({BooleanClause::SHOULD, random_term(random)});
          node.clauses.back().query.words = {static_cast<int>(random() % kWords)};
        }
        for (const std::int32_t n : {1, 10, 100, 2000}) {
          const TestHits wanted = exhaustive.search(node, static_cast<std::size_t>(n));
          ASSERT_NO_FATAL_FAILURE(expect_skipped(searcher, to_query(node), n, count, wanted, skipped));
        }
      }
    }
  }
  EXPECT_GT(skipped, 100) << "too few of the searches skip anything";
}

TEST(SkippingPostingsCache, TakesTermsAtTheirSecondSearchAndOnlyWhereThereIsRoom) {
  bm25::SkippingPostingsCache cache;
  const auto postings = std::make_shared<const bm25::SkippingPostings>();
  const std::size_t limit = std::get<bm25::PostingRanges>(*postings).memory();
  EXPECT_FALSE(cache.admits(L"one", limit, limit));
  EXPECT_TRUE(cache.admits(L"one", limit, limit));
  cache.keep(L"one", postings, limit);
  EXPECT_EQ(cache.find(L"one"), postings);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(cache.admits(L"other", limit, limit)) << "the place is in use";
  for (int i = 0; i < 20'000; ++i) EXPECT_EQ(cache.find(L"other"), nullptr);
  EXPECT_FALSE(cache.admits(L"other", limit, limit));
  EXPECT_TRUE(cache.admits(L"other", limit, limit)) << "the place has not been used for long";
  cache.keep(L"other", postings, limit);
  EXPECT_EQ(cache.find(L"one"), nullptr);
  EXPECT_EQ(cache.find(L"other"), postings);
}

/// Terms are added up one after the other, so documents with equal scores are not found in order.
TEST(FirstStagePaths, EqualScoresOfDifferentTermsComeInTheOrderOfDocuments) {
  Collection collection;
  for (int i = 0; i < 40000; ++i) collection.documents.push_back({i % 4, 10});
  collection.deleted.assign(collection.documents.size(), false);
  TemporaryFolder folder;
  write_own(folder.path(), written(collection), collection.documents.size());
  const Exhaustive exhaustive(collection, 0.9F, 0.4F);
  const auto searcher = open_bm25(folder.path());
  Node node;
  node.kind = Node::boolean;
  for (const int w : {3, 1, 2, 0}) {
    node.clauses.push_back({BooleanClause::SHOULD, {}});
    node.clauses.back().query.words = {w};
  }
  for (const std::int32_t n : {1, 7, 1000, 30000}) {
    ASSERT_TRUE(search(searcher, to_query(node), n) == exhaustive.search(node, static_cast<std::size_t>(n))) << n;
  }
}

/// Lets a test see what the searcher makes of a query.
class OpenedSearcher : public BM25Searcher {
 public:
  using BM25Searcher::BM25Searcher;
  using BM25Searcher::createWeight;
};

TEST(FirstStagePaths, FlatQueriesGoTermAtATime) {
  Random random(seed_for_run(17));
  for_each_index(7, [&](const Collection&, const auto& folder, float, float) {
    const auto searcher = Lucene::newLucene<OpenedSearcher>(open_reader(folder), FirstStageConfig{}, IndexConfig{});
    const auto goes = [&](const Lucene::QueryPtr& query) {
      const auto weight = boost::dynamic_pointer_cast<bm25::DisjunctionWeight>(searcher->createWeight(query));
      return weight && bm25::can_go_term_at_a_time(weight->terms());
    };
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(goes(to_query(random_flat(random))));
    const auto negative = term_query(word(1));
    negative->setBoost(-1);
    EXPECT_FALSE(goes(negative));
    const auto required = Lucene::newLucene<Lucene::BooleanQuery>();
    required->add(term_query(word(1)), BooleanClause::MUST);
    required->add(term_query(word(2)), BooleanClause::SHOULD);
    EXPECT_FALSE(goes(required));
  });
}

TEST(FirstStagePaths, StructuredQueriesGiveTheExhaustiveBits) {
  Random random(seed_for_run(12));
  std::int64_t hits = 0;
  for_each_index(2, [&](const Collection& collection, const auto& folder, float k1, float b) {
    const Exhaustive exhaustive(collection, k1, b);
    const auto searcher = open_bm25(folder, k1, b);
    for (int i = 0; i < 60; ++i) {
      const Node node = random_structured(random, 3);
      const auto query = to_query(node);
      const TestHits wanted = exhaustive.search(node, 50);
      hits += wanted.total;
      ASSERT_TRUE(search(searcher, query, 50) == wanted) << to_utf8(query->toString());
      ASSERT_TRUE(search_generally(searcher, query, 50) == wanted) << to_utf8(query->toString());
    }
  });
  EXPECT_GT(hits, 0);
}

TEST(FirstStagePaths, FiltersApplyToBothPaths) {
  Random random(seed_for_run(13));
  for_each_index(3, [&](const Collection& collection, const auto& folder, float k1, float b) {
    const Exhaustive exhaustive(collection, k1, b);
    const auto searcher = open_bm25(folder, k1, b);
    for (int i = 0; i < 15; ++i) {
      const int w = random_word(random);
      const auto filter = Lucene::newLucene<Lucene::QueryWrapperFilter>(term_query(word(w)));
      const auto allowed = [&](std::size_t document) {
        return std::ranges::count(collection.documents[document], w) > 0;
      };
      const Node node = random_flat(random);
      const TestHits wanted = exhaustive.search(node, 20, allowed);
      ASSERT_TRUE(search(searcher, to_query(node), 20, filter) == wanted);
      ASSERT_TRUE(search_generally(searcher, to_query(node), 20, filter) == wanted);
      const auto filtered = Lucene::newLucene<Lucene::FilteredQuery>(to_query(node), filter);
      ASSERT_TRUE(search(searcher, filtered, 20) == wanted);
    }
  });
}

TEST(FirstStagePaths, ExplanationsHaveTheScoresValue) {
  Random random(seed_for_run(14));
  for_each_index(4, [&](const Collection&, const auto& folder, float k1, float b) {
    const auto searcher = open_bm25(folder, k1, b);
    const auto explain = [&](const Lucene::QueryPtr& query, std::int32_t document) {
      return boost::static_pointer_cast<Lucene::Searcher>(searcher)->explain(query, document);
    };
    for (int i = 0; i < 10; ++i) {
      const auto query = to_query(random_structured(random, 2));
      std::set<std::int32_t> matching;
      for (const TestHit& hit : search(searcher, query, 100000).hits) {
        matching.insert(hit.document);
        if (matching.size() > 20) continue;
        const auto explanation = explain(query, hit.document);
        ASSERT_TRUE(explanation->isMatch());
        ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(explanation->getValue())), hit.bits)
            << to_utf8(explanation->toString());
      }
      for (std::int32_t document = 0; document < 20; ++document) {
        ASSERT_EQ(explain(query, document)->isMatch(), matching.contains(document)) << to_utf8(query->toString());
        ASSERT_FALSE(searcher->getIndexReader()->isDeleted(document) && matching.contains(document));
      }
    }
  });
}

/// The best part of each document, the others by a tenth: DisjunctionMaxQuery scores its parts by BM25 too.
TEST(FirstStagePaths, DisjunctionMaxTakesBm25ScoresOfItsParts) {
  Random random(seed_for_run(15));
  for_each_index(5, [&](const Collection&, const auto& folder, float k1, float b) {
    const auto searcher = open_bm25(folder, k1, b);
    const auto left = term_query(word(3)), right = term_query(word(5));
    const auto best = Lucene::newLucene<Lucene::DisjunctionMaxQuery>(0.0);
    best->add(left);
    best->add(right);
    std::map<std::int32_t, float> wanted;
    for (const auto& part : {left, right}) {
      for (const TestHit& hit : search(searcher, part, 100000).hits) {
        float& score = wanted.try_emplace(hit.document, 0.0F).first->second;
        score = std::max(score, std::bit_cast<float>(hit.bits));
      }
    }
    const TestHits hits = search(searcher, best, 100000);
    ASSERT_EQ(hits.hits.size(), wanted.size());
    for (const TestHit& hit : hits.hits) ASSERT_EQ(std::bit_cast<float>(hit.bits), wanted.at(hit.document));
  });
}

TEST(FirstStagePaths, EightThreadsGiveTheSameBits) {
  Random random(seed_for_run(16));
  for_each_index(6, [&](const Collection&, const auto& folder, float k1, float b) {
    const auto alone = open_bm25(folder, k1, b), shared = open_bm25(folder, k1, b);
    std::vector<Node> nodes;
    std::vector<TestHits> wanted;
    for (int i = 0; i < 24; ++i) {
      nodes.push_back(i % 2 == 0 ? random_flat(random) : random_structured(random, 2));
      wanted.push_back(search(alone, to_query(nodes.back()), 100));
    }
    std::vector<std::thread> threads;
    std::array<int, 8> different{};
    for (std::size_t t = 0; t < different.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t round = 0; round < nodes.size(); ++round) {
          const std::size_t i = (round * 5 + t) % nodes.size();
          different[t] += search(shared, to_query(nodes[i]), 100) == wanted[i] ? 0 : 1;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(different, (std::array<int, 8>{}));
  });
}

}  // namespace
}  // namespace relucent::testing
