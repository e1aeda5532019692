// A pair's logit is the same bits whatever else happens: repeats, other candidates, threads, callers, failures.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

AttentionPattern sparse(bool query_sees_document = false) {
  AttentionPattern pattern;
  pattern.query_cls = pattern.query_document = query_sees_document;
  pattern.window = 4;
  return pattern;
}

std::vector<std::size_t> various_lengths(std::size_t count) {
  std::vector<std::size_t> lengths(count);
  for (std::size_t i = 0; i < count; ++i) lengths[i] = 1 + i * 37 % 110;
  return lengths;
}

// So wide that every precision computes the projections in its own arithmetic; the sizes are not multiples of a block.
void expect_same_on_threads(BackendOptions options, std::initializer_list<std::size_t> documents,
                            std::initializer_list<int> threads) {
  RandomModel model({.hidden = 136, .heads = 4, .intermediate = 200, .layers = 3}, sparse());
  const Pairs pairs = random_pairs(model, 9, various_lengths(*std::max_element(documents.begin(), documents.end())));
  for (const bool query_sees_document : {false, true}) {
    model.set_pattern(sparse(query_sees_document));
    for (const std::size_t count : documents) {
      Pairs some = pairs;
      some.documents.resize(count);
      options.threads = 1;
      const std::vector<float> expected = some.logits(*model.on(options));
      for (const int many : threads) {
        options.threads = many;
        EXPECT_EQ(some.logits(*model.on(options)), expected)
            << options.instruction_set << ' ' << to_string(options.precision) << ", " << count << " documents, " << many
            << " threads";
      }
    }
  }
}

class SameBits : public OnEveryWay {
 protected:
  RandomModel model_{{.hidden = 96, .heads = 3, .intermediate = 200, .layers = 3}, sparse()};
  Pairs pairs_ = random_pairs(model_, 9, various_lengths(emulated() ? 12 : 100));
  const int repeats_ = emulated() ? 4 : 100;
};

INSTANTIATE_TEST_SUITE_P(Ways, SameBits, ::testing::ValuesIn(fast_ways()),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(SameBits, Over100Repeats) {
  const auto backend = model_.on(GetParam().options);
  pairs_.documents.resize(emulated() ? 5 : 20);
  const std::vector<float> first = pairs_.logits(*backend);
  for (int repeat = 0; repeat < repeats_; ++repeat) ASSERT_EQ(pairs_.logits(*backend), first) << "repeat " << repeat;
}

TEST_P(SameBits, WithADecoder) {
  RandomModel model({.hidden = 128, .heads = 2, .intermediate = 72, .layers = 2});
  model.add_decoder(40, true);
  Pairs pairs = random_pairs(model, 9, various_lengths(emulated() ? 6 : 40));
  pairs.document_type = 0;
  const auto backend = model.on(GetParam().options);
  const std::vector<float> whole = pairs.logits(*backend);
  for (int repeat = 0; repeat < repeats_ / 4; ++repeat) ASSERT_EQ(pairs.logits(*backend), whole) << repeat;
  for (std::size_t i = 0; i < pairs.documents.size(); ++i) {
    const Pairs alone{pairs.query, {pairs.documents[i]}, 0};
    EXPECT_EQ(alone.logits(*backend)[0], whole[i]) << "document " << i;
  }
}

TEST_P(SameBits, InBatchesOf1And7And32And100) {
  const auto backend = model_.on(GetParam().options);
  const std::vector<float> whole = pairs_.logits(*backend);
  for (const std::size_t size : {1, 7, 32}) {
    std::vector<float> parts;
    for (std::size_t begin = 0; begin < pairs_.documents.size(); begin += size) {
      const std::size_t end = std::min(begin + size, pairs_.documents.size());
      const Pairs part{pairs_.query,
                       {pairs_.documents.begin() + static_cast<std::ptrdiff_t>(begin),
                        pairs_.documents.begin() + static_cast<std::ptrdiff_t>(end)}};
      const std::vector<float> logits = part.logits(*backend);
      parts.insert(parts.end(), logits.begin(), logits.end());
    }
    EXPECT_EQ(parts, whole) << "batches of " << size;
  }
}

TEST_P(SameBits, OnAnyNumberOfThreads) {
  BackendOptions options = GetParam().options;
  std::vector<float> first;
  for (options.threads = 1; options.threads <= 4; ++options.threads) {
    const auto backend = model_.on(options);
    EXPECT_EQ(backend->info().threads, options.threads);
    const std::vector<float> logits = pairs_.logits(*backend);
    if (first.empty()) first = logits;
    EXPECT_EQ(logits, first) << options.threads << " threads";
  }
}

// More threads than documents, as many, and fewer: groups are computed by one worker or by all of them, by sequence and
// head, by panel or by feature.
TEST_P(SameBits, OnManyMoreThreadsThanProcessors) {
  if (GetParam().on_gpu()) GTEST_SKIP() << "SKIPPED: a GPU's work does not depend on the host's threads";
  expect_same_on_threads(GetParam().options, {1, 7, 64}, {4, 64});
}

// The level that fast_ways() leaves out has other panels, and takes several at a time.
TEST(SameBitsOfTiles, OnManyMoreThreadsThanProcessors) {
  for (const Way& way : ways()) {
    if (way.options.instruction_set == "amx_emulated") expect_same_on_threads(way.options, {1, 7}, {4, 64});
  }
}

TEST_P(SameBits, InAnyOrder) {
  for (const bool query_sees_document : {false, true}) {
    model_.set_pattern(sparse(query_sees_document));
    const auto backend = model_.on(GetParam().options);
    const std::vector<float> straight = pairs_.logits(*backend);
    std::vector<std::size_t> order(pairs_.documents.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 random(3);
    for (int round = 0; round < (emulated() ? 2 : 5); ++round) {
      std::shuffle(order.begin(), order.end(), random);
      Pairs shuffled{pairs_.query, {}};
      std::vector<float> expected;
      for (const std::size_t i : order) {
        shuffled.documents.push_back(pairs_.documents[i]);
        expected.push_back(straight[i]);
      }
      ASSERT_EQ(shuffled.logits(*backend), expected);
    }
  }
}

TEST_P(SameBits, ForEightCallersAtOnce) {
  const auto backend = model_.on(GetParam().options);
  std::vector<Pairs> queries;
  std::vector<std::vector<float>> alone;
  for (int caller = 0; caller < 8; ++caller) {
    queries.push_back(random_pairs(model_, 3 + static_cast<std::size_t>(caller), various_lengths(emulated() ? 3 : 12)));
    alone.push_back(queries.back().logits(*backend));
  }
  std::vector<int> different(8, -1);
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      int count = 0;
      for (int round = 0; round < (emulated() ? 1 : 10); ++round) {
        count += queries[caller].logits(*backend) != alone[caller] ? 1 : 0;
      }
      different[caller] = count;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different, std::vector<int>(8, 0));
}

TEST_P(SameBits, ForTwoBackendsOfOneModelInUseTogether) {
  const auto one = model_.on(GetParam().options), other = model_.on(GetParam().options);
  const std::vector<float> alone = pairs_.logits(*one);
  std::vector<float> together;
  std::thread caller([&] { together = pairs_.logits(*other); });
  EXPECT_EQ(pairs_.logits(*one), alone);
  caller.join();
  EXPECT_EQ(together, alone);
}

TEST_P(SameBits, AfterADeadlineAndABadId) {
  const auto backend = model_.on(GetParam().options);
  const std::vector<float> before = pairs_.logits(*backend);

  StopSignal past;
  past.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  StopSignal soon;
  for (int round = 0; round < 5; ++round) {
    expect_error(ErrorKind::deadline, [&] { pairs_.logits(*backend, past); });
    soon.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(300 * round);
    try {
      EXPECT_EQ(pairs_.logits(*backend, soon), before);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::deadline) << error.what();
    }
  }
  std::stop_source source;
  source.request_stop();
  StopSignal stopped;
  stopped.stop = source.get_token();
  expect_error(ErrorKind::interrupted, [&] { pairs_.logits(*backend, stopped); });
  Pairs bad = pairs_;
  bad.documents.back().front() = model_.description.vocabulary_size;
  EXPECT_THROW(bad.logits(*backend), Error);

  EXPECT_EQ(pairs_.logits(*backend), before);
}

TEST_P(SameBits, ADeadlineCutsWorkShort) {
  const auto backend = model_.on(GetParam().options);
  std::vector<std::vector<std::int32_t>> many;
  for (int copy = 0; copy < 200; ++copy) many.insert(many.end(), pairs_.documents.begin(), pairs_.documents.end());
  const Pairs long_work{pairs_.query, many};
  StopSignal soon;
  soon.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  expect_error(ErrorKind::deadline, [&] { long_work.logits(*backend, soon); });
  // One layer of one document lies between two looks at the clock: microseconds here. The rest is for busy machines.
  EXPECT_LT(std::chrono::steady_clock::now() - *soon.deadline, std::chrono::milliseconds(500));
}

TEST_P(SameBits, WhateverTheQueryLengthOfEarlierCalls) {
  // Reused memory must not shine through: long inputs first, then short ones, against a fresh backend.
  const auto used = model_.on(GetParam().options);
  random_pairs(model_, 20, {107, 1, 107}).logits(*used);
  const Pairs small = random_pairs(model_, 2, {3, 1, 5});
  EXPECT_EQ(small.logits(*used), small.logits(*model_.on(GetParam().options)));
}

TEST(Precisions, Bf16RoundsAndFp32DoesNot) {
  RandomModel model({.hidden = 96, .heads = 3, .intermediate = 200, .layers = 3}, sparse());
  const Pairs pairs = random_pairs(model, 9, {20, 30, 40});
  const auto fp32 = model.on({Device::cpu(), Precision::fp32, 1, ""}),
             bf16 = model.on({Device::cpu(), Precision::bf16, 1, ""});
  EXPECT_EQ(fp32->info().precision, Precision::fp32);
  EXPECT_EQ(bf16->info().precision, Precision::bf16);
  EXPECT_GT(furthest(pairs.logits(*fp32), pairs.logits(*bf16)), 1e-5);
}

}  // namespace
}  // namespace relucent::testing
