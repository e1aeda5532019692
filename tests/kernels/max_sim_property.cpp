// MaxSim against its definition, on every instruction set and from every form in which vectors are stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/vector_kernels.h"
#include "relucent/error.h"
#include "relucent/kernels/max_sim.h"
#include "tests/support/expect_error.h"

namespace relucent::testing {
namespace {

std::vector<float> random_numbers(std::size_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random);
  return numbers;
}

std::string stored(EmbeddingNumbers numbers, const std::vector<float>& vectors, std::size_t size) {
  std::string bytes;
  for (std::size_t at = 0; at < vectors.size(); at += size) {
    store_vector(numbers, std::span(vectors).subspan(at, size), bytes);
  }
  return bytes;
}

double by_definition(const MaxSimQuery& query, const StoredVectors& document) {
  const std::size_t size = query.size, rows = document.bytes.size() / stored_size(document.numbers, size);
  std::vector<float> vectors(rows * size);
  load_vectors(document.numbers, size, document.bytes, vectors);
  double sum = 0, greatest = -std::numeric_limits<double>::infinity();
  std::vector<double> products;
  const std::size_t count = query.vectors.size() / size;
  for (std::size_t q = 0; q < count; ++q) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t row = 0; row < rows; ++row) {
      double product = 0;
      for (std::size_t f = 0; f < size; ++f) {
        product += static_cast<double>(query.vectors[q * size + f]) * vectors[row * size + f];
      }
      best = std::max(best, product);
    }
    sum += best;
    products.push_back(best);
    greatest = std::max(greatest, best);
  }
  switch (query.over) {
    case MaxSimQuery::Over::sum: return sum;
    case MaxSimQuery::Over::mean: return sum / static_cast<double>(count);
    case MaxSimQuery::Over::max: return greatest;
    case MaxSimQuery::Over::softmax: break;
  }
  double weighted = 0, weights = 0;
  for (const double product : products) {
    weighted += std::exp(product - greatest) * product;
    weights += std::exp(product - greatest);
  }
  return weighted / weights;
}

TEST(MaxSim, IsItsDefinitionOnEveryLevel) {
  std::mt19937 random(7);
  const cpu::VectorLevels levels = cpu::available_vector_kernels();
  for (const std::size_t size : {1U, 7U, 24U, 96U, 128U, 130U}) {
    for (const std::size_t queries : {1U, 5U, 16U, 32U, 33U, 50U}) {
      const std::vector<float> query = random_numbers(queries * size, random);
      std::vector<std::string> bytes;
      std::vector<StoredVectors> documents;
      for (const auto numbers : {EmbeddingNumbers::fp32, EmbeddingNumbers::fp16, EmbeddingNumbers::int8}) {
        for (const std::size_t rows : {1U, 2U, 3U, 8U, 47U, 48U, 49U, 181U}) {
          bytes.push_back(stored(numbers, random_numbers(rows * size, random), size));
          documents.push_back({numbers, {}});
        }
      }
      for (std::size_t i = 0; i < bytes.size(); ++i) documents[i].bytes = bytes[i];
      for (const auto over :
           {MaxSimQuery::Over::sum, MaxSimQuery::Over::mean, MaxSimQuery::Over::max, MaxSimQuery::Over::softmax}) {
        const MaxSimQuery compared{query, size, over};
        std::vector<float> fused;
        for (std::size_t level = 0; level < levels.count; ++level) {
          const std::string name = levels.levels[level]->name;
          std::vector<float> scores(documents.size()), again(documents.size());
          max_sim(compared, documents, scores, 1, {}, name);
          max_sim(compared, documents, again, 3, {}, name);
          for (std::size_t i = 0; i < documents.size(); ++i) {
            const double wanted = by_definition(compared, documents[i]);
            const double allowed = 1e-6 * std::sqrt(static_cast<double>(size)) * static_cast<double>(queries + 4);
            ASSERT_NEAR(scores[i], wanted, allowed * (1 + std::sqrt(static_cast<double>(size))))
                << name << ", " << size << " numbers, " << queries << " query vectors, document " << i;
          }
          ASSERT_EQ(scores, again) << name;
          if (name == "plain") continue;  // without fused multiply-add
          if (fused.empty()) fused = scores;
          ASSERT_EQ(scores, fused) << name;
        }
      }
    }
  }
}

TEST(MaxSim, RefusesWhatIsNotVectors) {
  const std::vector<float> query = {1, 2, 3, 4};
  const std::string one = stored(EmbeddingNumbers::int8, {1, 2}, 2);
  std::vector<float> scores(1);
  const auto compare = [&](const MaxSimQuery& asked, const StoredVectors& document) {
    max_sim(asked, {&document, 1}, scores);
  };
  compare({query, 2}, {EmbeddingNumbers::int8, one});
  EXPECT_NEAR(scores[0], 5 + 11, 0.1);
  expect_error(ErrorKind::usage, "document 0", [&] { compare({query, 2}, {EmbeddingNumbers::int8, {}}); });
  expect_error(ErrorKind::usage, "document 0", [&] { compare({query, 2}, {EmbeddingNumbers::fp16, one.substr(1)}); });
  expect_error(ErrorKind::usage, "query", [&] { compare({query, 3}, {EmbeddingNumbers::int8, one}); });
  expect_error(ErrorKind::usage, "query", [&] { compare({{}, 2}, {EmbeddingNumbers::int8, one}); });
  expect_error(ErrorKind::usage, "documents", [&] {
    const StoredVectors document{EmbeddingNumbers::int8, one};
    max_sim({query, 2}, {&document, 1}, std::span(scores).first(0));
  });
  expect_error(ErrorKind::usage, "instruction set", [&] {
    const StoredVectors document{EmbeddingNumbers::int8, one};
    max_sim({query, 2}, {&document, 1}, scores, 1, {}, "mmx");
  });
  std::stop_source stop;
  stop.request_stop();
  expect_error(ErrorKind::interrupted, "", [&] {
    const StoredVectors document{EmbeddingNumbers::int8, one};
    StopSignal signal;
    signal.stop = stop.get_token();
    max_sim({query, 2}, {&document, 1}, scores, 1, signal);
  });
}

TEST(StoredNumbers, EveryFiniteHalfIsReadAsItIs) {
  std::string bytes;
  std::vector<float> wanted;
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7C00U) == 0x7C00U) continue;  // infinite, or not a number
    bytes.append({static_cast<char>(half & 0xFFU), static_cast<char>(half >> 8)});
  }
  const std::size_t count = bytes.size() / 2;
  wanted.resize(count);
  load_vectors(EmbeddingNumbers::fp16, count, bytes, wanted);
  const cpu::VectorLevels levels = cpu::available_vector_kernels();
  for (std::size_t level = 0; level < levels.count; ++level) {
    std::vector<float> read(count);
    levels.levels[level]->widen(EmbeddingNumbers::fp16, bytes.data(), count, 1, read.data());
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(read[i]), std::bit_cast<std::uint32_t>(wanted[i])) << i;
    }
  }
}

}  // namespace
}  // namespace relucent::testing
