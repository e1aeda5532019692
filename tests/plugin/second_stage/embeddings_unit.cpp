// Embeddings as records next to the index: their numbers, and what makes a file unusable.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/half.h"
#include "plugin/index_format/records/segment_records_writer.h"
#include "plugin/second_stage/embeddings.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

const EmbeddingShape kShape{0x123456789, 2, 3};
const std::vector<std::string> kFields = {"title", "text"};

EmbeddingForm form(EmbeddingNumbers numbers) { return {kShape, numbers, kFields}; }

std::vector<float> through(const EmbeddingForm& as, const std::vector<float>& values) {
  std::string bytes;
  store_embedding(as, values, bytes);
  EXPECT_EQ(bytes.size(), as.bytes());
  std::vector<float> back(values.size());
  load_vectors(as.numbers, static_cast<std::size_t>(as.shape.hidden), bytes, back);
  return back;
}

TEST(Embeddings, TakeTheBytesOfTheirPrecision) {
  EXPECT_EQ(form(EmbeddingNumbers::fp32).bytes(), 24U);
  EXPECT_EQ(form(EmbeddingNumbers::fp16).bytes(), 12U);
  EXPECT_EQ(form(EmbeddingNumbers::int8).bytes(), 14U);
  for (const char* name : {"fp32", "fp16", "int8"}) EXPECT_EQ(to_string(embedding_numbers(name)), name);
  expect_error(ErrorKind::usage, "fp32, fp16 or int8", [] { embedding_numbers("bf16"); });
}

TEST(Embeddings, GiveBackTheSameBitsInFp32) {
  const std::vector<float> values = {0.1F, -0.0F, 3e38F, 1e-45F, -2.5F, 1};
  const std::vector<float> back = through(form(EmbeddingNumbers::fp32), values);
  EXPECT_EQ(std::memcmp(back.data(), values.data(), sizeof(float) * values.size()), 0);
}

TEST(Embeddings, GiveBackEveryFiniteHalf) {
  const EmbeddingForm one{{1, 1, 1}, EmbeddingNumbers::fp16, kFields};
  for (std::uint32_t half = 0; half < 1U << 16; ++half) {
    const float value = from_f16(static_cast<std::uint16_t>(half));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(through(one, {value})[0]), std::bit_cast<std::uint32_t>(value)) << half;
  }
  EXPECT_EQ(through(one, {0.1F})[0], from_f16(to_f16(0.1F)));
}

TEST(Embeddings, ErrByHalfAStepInInt8) {
  const std::vector<float> values = {1, -0.5F, 0.3F, 0, 0, 0};
  const std::vector<float> back = through(form(EmbeddingNumbers::int8), values);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(back[i], values[i], 0.5 / 127 + 1e-6);
  EXPECT_FLOAT_EQ(back[0], 1);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(back[i], 0);  // a scale of its own for each row
}

TEST(Embeddings, RefuseNumbersThatCannotBeStored) {
  std::string bytes;
  for (const EmbeddingNumbers numbers : {EmbeddingNumbers::fp32, EmbeddingNumbers::fp16, EmbeddingNumbers::int8}) {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      const std::vector<float> values = {0, 0, 0, 0, bad, 0};
      expect_error(ErrorKind::invalid_data, "not finite", [&] { store_embedding(form(numbers), values, bytes); });
    }
  }
  const std::vector<float> large = {70000, 0, 0, 0, 0, 0};
  expect_error(ErrorKind::invalid_data, "fp32", [&] { store_embedding(form(EmbeddingNumbers::fp16), large, bytes); });
  EXPECT_EQ(through(form(EmbeddingNumbers::fp32), large), large);
}

TEST(Embeddings, OfAnyNumberOfRowsVaryInSize) {
  const EmbeddingForm of_tokens{{1, 0, 3}, EmbeddingNumbers::int8, kFields};
  EXPECT_EQ(of_tokens.bytes(), 0U);
  EXPECT_EQ(header_of({"_0", 1, 0}, of_tokens).record_bytes, 0U);
  std::string bytes;
  store_embedding(of_tokens, std::vector<float>{1, 2, 3, -1, -2, -3, 0, 0, 0}, bytes);
  EXPECT_EQ(bytes.size(), 3 * stored_size(EmbeddingNumbers::int8, 3));
  const std::string input = EmbeddingKind::stored_vectors(EmbeddingNumbers::int8, bytes);
  EXPECT_EQ(static_cast<EmbeddingNumbers>(input.front()), EmbeddingNumbers::int8);
  EXPECT_EQ(input.substr(1), bytes);
}

class EmbeddingFiles : public ::testing::Test {
 protected:
  EmbeddingFiles() {
    for (const SegmentIdentity& segment : segments) write(segment, form(EmbeddingNumbers::fp32));
  }

  /// Document i's numbers are all 10 times the segment's contents plus i; the second one has no text, the third one was
  /// deleted.
  void write(const SegmentIdentity& segment, const EmbeddingForm& as) const {
    SegmentRecordsWriter writer(folder.path(), kEmbeddings, header_of(segment, as));
    for (std::uint32_t i = 0; i < segment.documents; ++i) {
      const std::size_t rows = as.shape.rows > 0 ? static_cast<std::size_t>(as.shape.rows) : i + 1;
      const std::vector<float> values(rows * static_cast<std::size_t>(as.shape.hidden),
                                      static_cast<float>(10 * segment.contents + i));
      std::string bytes;
      store_embedding(as, values, bytes);
      if (i == 1) bytes.clear();
      writer.add(i == 2 ? std::nullopt : std::optional<std::string_view>(bytes));
    }
    writer.commit();
  }

  /// A document's embedding; empty if it has no text.
  static std::vector<float> read(const StoredEmbeddings& stored, std::int32_t document) {
    const std::string bytes = stored.read({document, {}, {}}, {}).value();
    const std::span<const float> values = EmbeddingKind::read(bytes);
    return {values.begin(), values.end()};
  }

  class Index : public InputIndex {
   public:
    Index(fs::path of, std::vector<SegmentIdentity> all, IndexConfig fields)
        : InputIndex(std::move(fields), {}), folder_(std::move(of)), segments_(std::move(all)) {}
    fs::path folder() const override { return folder_; }
    std::vector<SegmentIdentity> segments() const override { return segments_; }

   private:
    fs::path folder_;
    std::vector<SegmentIdentity> segments_;
  };

  StoredEmbeddings open(const EmbeddingShape& shape = kShape, const std::vector<std::string>& fields = kFields,
                        MissingEmbeddings missing = MissingEmbeddings::error) const {
    IndexConfig config;
    config.text_fields = fields;
    return {std::make_shared<const Index>(folder.path(), segments, config), shape, missing};
  }

  void expect_problem(const std::vector<std::string>& texts, const EmbeddingShape& shape = kShape,
                      const std::vector<std::string>& fields = kFields) const {
    const StoredEmbeddings stored = open(shape, fields);
    ASSERT_TRUE(stored.problem());
    const Error thrown = expect_error(stored.problem()->kind(), texts, [&] { read(stored, 0); });
    EXPECT_EQ(thrown.problem(), stored.problem()->problem());
    EXPECT_NE(stored.problem()->remedy().find("missing_embeddings"), std::string::npos);
    const StoredEmbeddings lenient = open(shape, fields, MissingEmbeddings::encode);
    EXPECT_FALSE(lenient.problem());
    EXPECT_FALSE(lenient.read({0, {}, {}}, {}));
    EXPECT_NE(std::string(thrown.what()).find("relucent encode"), std::string::npos) << thrown.what();
  }

  const TemporaryFolder folder;
  const std::vector<SegmentIdentity> segments = {{"_0", 4, 1}, {"_1", 3, 2}};
};

TEST_F(EmbeddingFiles, AreFoundByTheDocumentsOfTheIndex) {
  const StoredEmbeddings stored = open();
  EXPECT_FALSE(stored.problem());
  const float expected[] = {10, 0, 0, 13, 20, 0, 0};
  for (const std::int32_t document : {0, 3, 4}) {
    EXPECT_EQ(read(stored, document), std::vector<float>(6, expected[document]));
  }
  for (const std::int32_t document : {1, 5}) EXPECT_EQ(read(stored, document), std::vector<float>());
  for (const std::int32_t document : {2, 6}) {
    expect_error(ErrorKind::invalid_data, "was deleted", [&] { read(stored, document); });
  }
  for (const std::int32_t document : {-1, 7}) {
    expect_error(ErrorKind::usage, "not in this index", [&] { read(stored, document); });
  }
}

TEST_F(EmbeddingFiles, SayWhatTheyWereMadeOf) {
  for (const EmbeddingNumbers numbers : {EmbeddingNumbers::fp32, EmbeddingNumbers::fp16, EmbeddingNumbers::int8}) {
    write(segments[0], form(numbers));
    EXPECT_EQ(form_of(*SegmentRecords::open(folder.path(), kEmbeddings, segments[0])), form(numbers));
    EXPECT_FALSE(open().problem());
  }
}

TEST_F(EmbeddingFiles, AreRefusedIfAnotherCheckpointOrOtherFieldsMadeThem) {
  expect_problem({"_0", "another checkpoint", "0000000123456789", "000000000000002a"}, {42, 2, 3});
  expect_problem({"_0", "2 vectors of 3", "3 vectors of 3"}, {kShape.fingerprint, 3, 3});
  expect_problem({"_0", "title\", \"text", "\"text\""}, kShape, {"text"});
}

TEST_F(EmbeddingFiles, OfOneSegmentMayBeMissing) {
  fs::remove(folder / "relucent-_1.embeddings");
  const StoredEmbeddings stored = open();
  ASSERT_TRUE(stored.problem());
  EXPECT_NE(std::string(stored.problem()->what()).find("relucent-_1.embeddings: is missing"), std::string::npos);
  EXPECT_EQ(read(stored, 3).size(), 6U);
  expect_error(ErrorKind::io, "relucent-_1.embeddings", [&] { read(stored, 4); });
}

TEST_F(EmbeddingFiles, WithHostileSettingsAreRefused) {
  for (const std::string& settings :
       {std::string(), std::string("fp32"), std::string("fp32\n2\n3"), std::string("bf16\n2\n3\ntext"),
        std::string("fp32\n0\n3\ntext"), std::string("fp32\n-2\n3\ntext"), std::string("fp32\n2\n4\ntext"),
        std::string("fp32\n2x\n3\ntext"), std::string("fp32\n2147483647\n2147483647\ntext"),
        std::string("fp32\n99999999999\n3\ntext"), std::string(4096, '\n')}) {
    RecordsHeader header = header_of(segments[0], form(EmbeddingNumbers::fp32));
    header.settings = settings;
    SegmentRecordsWriter writer(folder.path(), kEmbeddings, header);
    while (writer.documents() < header.segment.documents) writer.add("");
    writer.commit();
    expect_problem({"_0", "does not describe embeddings"});
  }
}

TEST_F(EmbeddingFiles, NoticeADamagedRowWhenItIsRead) {
  std::string bytes = bytes_of(folder / "relucent-_0.embeddings");
  const std::size_t last = bytes.size() - 8 - 8 - 1;  // before the record's checksum and the end
  bytes[last] = static_cast<char>(bytes[last] ^ 1);
  folder.write("relucent-_0.embeddings", bytes);
  const StoredEmbeddings stored = open();
  EXPECT_FALSE(stored.problem());
  EXPECT_EQ(read(stored, 0).size(), 6U);
  expect_error(ErrorKind::invalid_data, {"relucent-_0.embeddings", "document 3 is damaged", "relucent encode"},
               [&] { read(stored, 3); });
}

TEST_F(EmbeddingFiles, OfAnyNumberOfRowsAreReadAsStored) {
  const EmbeddingShape of_tokens{0x123456789, 0, 3};
  for (const EmbeddingNumbers numbers : {EmbeddingNumbers::fp32, EmbeddingNumbers::fp16, EmbeddingNumbers::int8}) {
    for (const SegmentIdentity& segment : segments) write(segment, {of_tokens, numbers, kFields});
    const StoredEmbeddings stored = open(of_tokens);
    EXPECT_FALSE(stored.problem());
    EXPECT_EQ(stored.read({1, {}, {}}, {}).value(), "");  // without text
    const std::string input = stored.read({3, {}, {}}, {}).value();
    EXPECT_EQ(static_cast<EmbeddingNumbers>(input.front()), numbers);
    ASSERT_EQ(input.size(), 1 + 4 * stored_size(numbers, 3));
    std::vector<float> vectors(12);
    load_vectors(numbers, 3, std::string_view(input).substr(1), vectors);
    EXPECT_FLOAT_EQ(vectors.back(), 13);
  }
  expect_problem({"a vector of 3 numbers per token", "2 vectors of 3 numbers"});
}

}  // namespace
}  // namespace relucent::testing
