// The kernels over postings: every instruction set that this processor runs gives what the plain one does, on lists as
// indexes have them and on any bytes at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "plugin/index_format/posting_kernels.h"
#include "plugin/lucene/bm25/contributions.h"

namespace relucent::bm25 {
namespace {

using Random = std::mt19937_64;

struct Posting {
  std::int32_t document, frequency;
};

void append_number(std::vector<std::uint8_t>& bytes, std::uint32_t value) {
  for (; value > 0x7F; value >>= 7) bytes.push_back(static_cast<std::uint8_t>((value & 0x7F) | 0x80));
  bytes.push_back(static_cast<std::uint8_t>(value));
}

std::vector<std::uint8_t> encoded(const std::vector<Posting>& postings) {
  std::vector<std::uint8_t> bytes;
  std::int32_t last = 0;
  for (const auto& [document, frequency] : postings) {
    const auto distance = static_cast<std::uint32_t>(document - last);
    last = document;
    append_number(bytes, distance << 1 | (frequency == 1 ? 1 : 0));
    if (frequency != 1) append_number(bytes, static_cast<std::uint32_t>(frequency));
  }
  return bytes;
}

struct Decoded {
  std::vector<std::int32_t> documents, frequencies;
  std::int64_t last;
  std::size_t used;
};

Decoded decode(const PostingKernels& kernels, std::vector<std::uint8_t> bytes, std::int32_t count,
               std::int64_t document) {
  bytes.resize(bytes.size() + PostingKernels::kReadAhead, 0xFF);  // numbers without an end
  const std::size_t room = static_cast<std::size_t>(count) + PostingKernels::kWriteAhead;
  Decoded decoded{std::vector<std::int32_t>(room), std::vector<std::int32_t>(room), document, 0};
  decoded.used = static_cast<std::size_t>(
      kernels.decode(bytes.data(), count, decoded.last, decoded.documents.data(), decoded.frequencies.data()) -
      bytes.data());
  decoded.documents.resize(static_cast<std::size_t>(count));
  decoded.frequencies.resize(static_cast<std::size_t>(count));
  return decoded;
}

template <typename Use>
void for_each_level(Use&& use) {
  const PostingLevels available = available_posting_kernels();
  for (std::size_t i = 0; i < available.count; ++i) {
    SCOPED_TRACE(available.levels[i]->name);
    use(*available.levels[i]);
  }
}

TEST(FirstStagePostings, ListsOfAllDensitiesAreDecoded) {
  Random random(1);
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t gap = std::uint64_t{1} << random() % 22, often = 1 + random() % 8;
    std::vector<Posting> postings;
    std::int32_t document = 0;
    const std::size_t size = 1 + random() % 700;
    for (std::size_t i = 0; i < size; ++i) {
      // Frequencies from 1; runs of even ones, and now and then one of two bytes or more.
      const auto frequency = random() % often == 0 ? 1 + random() % (random() % 200 == 0 ? 100000 : 12) : 1;
      document += static_cast<std::int32_t>(random() % gap + (i == 0 ? 0 : 1));
      postings.push_back({document, static_cast<std::int32_t>(frequency)});
    }
    const auto bytes = encoded(postings);
    for_each_level([&](const PostingKernels& kernels) {
      const Decoded decoded = decode(kernels, bytes, static_cast<std::int32_t>(size), 0);
      ASSERT_EQ(decoded.used, bytes.size());
      ASSERT_EQ(decoded.last, document);
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(decoded.documents[i], postings[i].document) << i;
        ASSERT_EQ(decoded.frequencies[i], postings[i].frequency) << i;
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(FirstStagePostings, AnyBytesGiveTheSameOnEveryInstructionSet) {
  Random random(2);
  for (int round = 0; round < 20000; ++round) {
    const auto count = static_cast<std::int32_t>(1 + random() % 512);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count) * 10);
    // Small bytes, large ones, odd and even in many mixtures.
    const std::uint64_t mask = random(), or_mask = random() % 3 == 0 ? random() : 0, rare = 1 + random() % 40;
    for (auto& byte : bytes) {
      byte = static_cast<std::uint8_t>((random() & mask & 0x7F) | or_mask % 2);
      if (random() % rare == 0) byte = static_cast<std::uint8_t>(random());
    }
    const auto before = static_cast<std::int64_t>(random() % 0x7FFFFFFF);
    const Decoded wanted = decode(plain::kPostingKernels, bytes, count, before);
    for_each_level([&](const PostingKernels& kernels) {
      const Decoded decoded = decode(kernels, bytes, count, before);
      ASSERT_EQ(decoded.used, wanted.used);
      ASSERT_EQ(decoded.last, wanted.last);
      ASSERT_EQ(decoded.documents, wanted.documents);
      ASSERT_EQ(decoded.frequencies, wanted.frequencies);
    });
    if (HasFatalFailure()) return;
  }
}

TEST(FirstStagePostings, MarksOfAnyValueAreCountedAndReset) {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint8_t> filled(64 * (1 + random() % 40));
    const std::uint64_t sparse = 1 + random() % 300;
    for (auto& mark : filled) mark = static_cast<std::uint8_t>(random() % sparse == 0 ? random() : 0);
    const auto wanted = static_cast<std::size_t>(std::ranges::count_if(filled, [](auto mark) { return mark != 0; }));
    for_each_level([&](const PostingKernels& kernels) {
      auto marks = filled;
      ASSERT_EQ(kernels.count_marks(marks.data(), marks.size()), wanted);
      ASSERT_EQ(marks, std::vector<std::uint8_t>(marks.size()));
    });
    if (HasFatalFailure()) return;
  }
}

TEST(FirstStagePostings, BoundsOfRangesAreAddedUpAndFound) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    const std::size_t size = random() % (round % 20 == 0 ? 10'000 : 300);
    std::vector<std::vector<std::uint8_t>> codes(random() % 5, std::vector<std::uint8_t>(size));
    std::vector<const std::uint8_t*> lists;
    std::vector<std::uint16_t> units, wanted(size);
    for (auto& list : codes) {
      for (auto& code : list) code = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : 0);
      units.push_back(static_cast<std::uint16_t>(1 + random() % 60));
      lists.push_back(list.data());
      for (std::size_t i = 0; i < size; ++i) wanted[i] = static_cast<std::uint16_t>(wanted[i] + units.back() * list[i]);
    }
    const auto limit = static_cast<std::uint16_t>(random() % 50000);
    std::vector<std::uint16_t> above;
    for (std::size_t i = 0; i < size; ++i) {
      if (wanted[i] > limit) above.push_back(static_cast<std::uint16_t>(i));
    }
    for_each_level([&](const PostingKernels& kernels) {
      std::vector<std::uint16_t> sums(size, 7);
      kernels.sum_products(sums.data(), size, lists.data(), units.data(), lists.size());
      ASSERT_EQ(sums, wanted);
      std::vector<std::uint16_t> places(size + PostingKernels::kWriteAhead);
      places.resize(kernels.find_above(sums.data(), size, limit, places.data()));
      ASSERT_EQ(places, above);
    });
    if (HasFatalFailure()) return;
  }
}

TEST(FirstStagePostings, TablesHoldTheFormulasBits) {
  FirstStageConfig first_stage;
  first_stage.k1 = 0.9;
  first_stage.b = 0.4;
  const FieldModel model(FieldStatistics{1000, 37500}, ScoringSettings(first_stage));
  const auto& factors = model.factors();
  Importance importance;
  importance.idf = 3.7F;
  for (const std::uint8_t longest : {std::uint8_t{1}, std::uint8_t{70}, std::uint8_t{255}}) {
    for (const std::int64_t postings : {std::int64_t{1}, std::int64_t{1000000}}) {
      const Contributions contributions(TermScore(model, importance), longest, postings);
      for (int length = 0; length <= longest; ++length) {
        const float factor = factors[static_cast<std::size_t>(length)];
        for (const std::int32_t frequency :
             {0, 1, 2, 3, 7, 8, 9, 100, 70000, std::numeric_limits<std::int32_t>::max()}) {
          ASSERT_EQ(contributions(frequency, static_cast<std::uint8_t>(length)),
                    static_cast<double>(contribution(3.7F, static_cast<float>(frequency), factor)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace relucent::bm25
