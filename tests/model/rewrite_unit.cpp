// `model extend` and `convert`, and where the bundled model is found.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstdlib>

#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/environment.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

class Rewrite : public ::testing::Test {
 protected:
  TinyCheckpoint checkpoint;
  TemporaryFolder temporary;
  fs::path from = temporary / "from", to = temporary / "to";

  void SetUp() override { checkpoint.write(from); }

  static std::vector<float> table(const fs::path& folder) {
    return read_checkpoint(folder).weights.weights.position_embeddings.to_f32();
  }
  static float logit(const fs::path& folder) {
    CrossEncoderOptions options;
    options.backend.device = Device::ref();
    const std::string_view document = "a b c d";
    return CrossEncoder::load(folder, options)->score("q x", {&document, 1}).documents[0].logit;
  }
  template <typename Work>
  static void refused(ErrorKind kind, const std::string& text, Work work) {
    EXPECT_FALSE(expect_error(kind, text, [&] { work(); }).remedy().empty());
  }
};

TEST_F(Rewrite, ExtendedRowsLieOnTheLinesBetweenTheOldOnes) {
  for (const int trained : {0, 2, 40}) {
    for (const int positions : {65, 127, 256}) {
      fs::remove_all(to);
      extend_positions(from, to, positions, trained);
      const auto old = table(from), extended = table(to);
      ASSERT_EQ(extended.size(), static_cast<std::size_t>(positions) * 8);
      const int rows = trained == 0 ? 64 : trained;
      for (int i = 0; i < positions; ++i) {
        const double p = static_cast<double>(i) * (rows - 1) / (positions - 1);
        const auto low = static_cast<std::size_t>(std::floor(p)), high = static_cast<std::size_t>(std::ceil(p));
        for (std::size_t j = 0; j < 8; ++j) {
          const double share = p - std::floor(p);
          const double expected = (1 - share) * old[low * 8 + j] + share * old[high * 8 + j];
          ASSERT_NEAR(extended[static_cast<std::size_t>(i) * 8 + j], expected, 1e-6) << i;
        }
      }
      EXPECT_TRUE(std::equal(old.begin(), old.begin() + 8, extended.begin())) << "the first row stays";
      EXPECT_TRUE(std::equal(old.begin() + (rows - 1) * 8, old.begin() + rows * 8, extended.end() - 8));
    }
  }
}

TEST_F(Rewrite, AnExtendedCheckpointTakesLongerInputs) {
  checkpoint.tensors["bert.embeddings.position_ids"] = {"I64", {1, 64}, std::string(512, '\0')};
  checkpoint.write(from);
  write_file(from / "README.md", "card");
  write_file(from / "pytorch_model.bin", "old weights");
  extend_positions(from, to, 200);
  const CheckpointInfo info = inspect_checkpoint(to);
  EXPECT_EQ(info.max_length, 200);
  EXPECT_EQ(info.description.max_positions, 200);
  EXPECT_EQ(read_file(to / "README.md"), "card");
  EXPECT_EQ(read_file(to / "vocab.txt"), read_file(from / "vocab.txt"));
  EXPECT_FALSE(fs::exists(to / "pytorch_model.bin"));
  for (const TensorSummary& tensor : info.tensors) EXPECT_NE(tensor.name, "bert.embeddings.position_ids");
  const CheckpointCheck check = check_checkpoint(to, {.device = Device::ref(), .instruction_set = {}});
  EXPECT_EQ(check.logits.size(), 3U);
}

TEST_F(Rewrite, ExtendKeepsEveryOtherTensorAndTheTablesType) {
  convert_checkpoint(from, temporary / "half", DataType::bf16);
  extend_positions(temporary / "half", to, 100);
  const Checkpoint old = read_checkpoint(temporary / "half"), extended = read_checkpoint(to);
  for (const SafetensorsEntry& entry : old.file.entries()) {
    const SafetensorsEntry* other = extended.file.find(entry.name);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->type, "BF16");
    if (entry.name == "bert.embeddings.position_embeddings.weight") continue;
    const auto a = old.file.data(entry), b = extended.file.data(*other);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << entry.name;
  }
}

TEST_F(Rewrite, ExtendRefusesWhatItCannotDo) {
  refused(ErrorKind::usage, "65", [&] { extend_positions(from, to, 64); });
  refused(ErrorKind::usage, "65", [&] { extend_positions(from, to, 10); });
  refused(ErrorKind::usage, "trained", [&] { extend_positions(from, to, 100, 65); });
  refused(ErrorKind::usage, "trained", [&] { extend_positions(from, to, 100, 1); });
  refused(ErrorKind::usage, "trained", [&] { extend_positions(from, to, 100, -4); });
  refused(ErrorKind::io, "does not exist", [&] { extend_positions(temporary / "absent", to, 100); });
  fs::create_directory(to);
  refused(ErrorKind::usage, "already exists", [&] { extend_positions(from, to, 100); });
  refused(ErrorKind::usage, "already exists", [&] { extend_positions(from, from, 100); });
  refused(ErrorKind::io, "creating the directory", [&] { extend_positions(from, temporary / "no/such/folder", 100); });
}

TEST_F(Rewrite, ConversionRoundsEachValueAndNotesItInTheConfig) {
  for (const DataType type : {DataType::f16, DataType::bf16}) {
    fs::remove_all(to);
    convert_checkpoint(from, to, type);
    const Checkpoint old = read_checkpoint(from), converted = read_checkpoint(to);
    EXPECT_EQ(converted.config.string("torch_dtype"), type == DataType::f16 ? "float16" : "bfloat16");
    const double unit = type == DataType::f16 ? 0x1p-11 : 0x1p-8;
    for (const SafetensorsEntry& entry : old.file.entries()) {
      const auto before = old.file.view(entry).to_f32();
      const auto after = converted.file.view(*converted.file.find(entry.name)).to_f32();
      for (std::size_t i = 0; i < before.size(); ++i) {
        ASSERT_NEAR(after[i], before[i], std::abs(before[i]) * unit + 1e-7) << entry.name;
      }
    }
    EXPECT_NEAR(logit(to), logit(from), 0.1);
    EXPECT_NE(logit(to), logit(from));
  }
}

TEST_F(Rewrite, DoublePrecisionIsConvertedToo) {
  const std::string single = read_file(from / "model.safetensors");
  for (auto& [name, tensor] : checkpoint.tensors) tensor = widened(tensor);
  checkpoint.write(from);
  ASSERT_NE(read_file(from / "model.safetensors").size(), single.size());
  convert_checkpoint(from, to, DataType::f32);
  const Checkpoint old = read_checkpoint(from), converted = read_checkpoint(to);
  for (const SafetensorsEntry& entry : converted.file.entries()) {
    EXPECT_EQ(entry.type, "F32") << entry.name;
    EXPECT_EQ(converted.file.view(entry).to_f32(), old.file.view(*old.file.find(entry.name)).to_f32());
  }
  EXPECT_EQ(logit(to), logit(from));
  convert_checkpoint(from, temporary / "half", DataType::f16);
  for (const TensorSummary& tensor : inspect_checkpoint(temporary / "half").tensors) EXPECT_EQ(tensor.type, "F16");
}

TEST_F(Rewrite, ShardsAreJoined) {
  fs::remove(from / "model.safetensors");
  std::map<std::string, TinyTensor> parts[3];
  nlohmann::json index;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const std::size_t part = index["weight_map"].size() % 3;
    parts[part][name] = tensor;
    index["weight_map"][name] = "part" + std::to_string(part) + ".safetensors";
  }
  for (int part = 0; part < 3; ++part) {
    write_file(from / ("part" + std::to_string(part) + ".safetensors"), safetensors_bytes(parts[part]));
  }
  write_file(from / "model.safetensors.index.json", index.dump());
  write_file(from / "pytorch_model.bin.index.json", "{}");
  convert_checkpoint(from, to, std::nullopt);
  for (const auto& entry : fs::directory_iterator(to)) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(name.find("part"), std::string::npos) << name;
    EXPECT_EQ(name.find("index"), std::string::npos) << name;
  }
  const Checkpoint joined = read_checkpoint(to);
  ASSERT_EQ(joined.file.entries().size(), checkpoint.tensors.size());
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const auto bytes = joined.file.data(*joined.file.find(name));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), tensor.bytes) << name;
  }
  EXPECT_EQ(logit(to), logit(from));
  EXPECT_EQ(joined.config.string("torch_dtype"), std::nullopt) << "nothing was converted";
  convert_checkpoint(from, temporary / "half", DataType::f16);
  EXPECT_EQ(inspect_checkpoint(temporary / "half").weight_type, "F16");
}

TEST_F(Rewrite, ALargeTensorIsConvertedInParts) {
  constexpr std::int64_t size = (1 << 21) + 3;
  std::vector<float> values(size);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 2000);
  const auto bytes = std::as_bytes(std::span(values));
  TinyTensor& tensor = checkpoint.tensors["unused"];
  tensor = {"F32", {size}, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  checkpoint.write(from);
  convert_checkpoint(from, to, DataType::f16);
  const SafetensorsFile file = SafetensorsFile::open(to / "model.safetensors");
  EXPECT_EQ(file.view(*file.find("unused")).to_f32(), values);
  const float great = 1e6F;
  std::memcpy(tensor.bytes.data() + 4 * (size - 1), &great, sizeof great);
  checkpoint.write(from);
  refused(ErrorKind::invalid_data, "tensor unused: element 2097154 is 1000000",
          [&] { convert_checkpoint(from, temporary / "other", DataType::f16); });
}

TEST_F(Rewrite, WideningLosesNothing) {
  convert_checkpoint(from, temporary / "half", DataType::f16);
  convert_checkpoint(temporary / "half", to, DataType::f32);
  EXPECT_EQ(logit(to), logit(temporary / "half"));
  EXPECT_EQ(inspect_checkpoint(to).weight_type, "F32");
}

TEST_F(Rewrite, AValueTooGreatForTheTypeIsNamedAndNothingIsLeftBehind) {
  const float great = 70000.0F;
  std::memcpy(checkpoint.tensors["classifier.weight"].bytes.data() + 8, &great, sizeof great);
  checkpoint.write(from);
  refused(ErrorKind::invalid_data, "tensor classifier.weight: element 2 is 70000",
          [&] { convert_checkpoint(from, to, DataType::f16); });
  EXPECT_FALSE(fs::exists(to));
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(temporary.path())) entries += entry.path() != from ? 1 : 0;
  EXPECT_EQ(entries, 0U) << "a draft was left";
  convert_checkpoint(from, to, DataType::bf16);
}

/// Lets no file of this process grow beyond some bytes, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

TEST_F(Rewrite, AWriteThatFailsIsNamedAndNothingIsLeftBehind) {
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{100}, rlim_t{9000}}) {
    const FileSizeLimit limit(bytes);
    refused(ErrorKind::io, "model.safetensors: writing", [&] { extend_positions(from, to, 1000); });
  }
  EXPECT_FALSE(fs::exists(to));
  EXPECT_EQ(std::distance(fs::directory_iterator(temporary.path()), {}), 1) << "a draft was left";
}

TEST(DataTypes, NamesThereAndBack) {
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
    EXPECT_EQ(parse_data_type(to_string(type)), type);
  }
  EXPECT_EQ(parse_data_type("BF16"), DataType::bf16);
  EXPECT_THROW(parse_data_type("f64"), Error);
}

TEST(DefaultModel, IsNextToTheLibraryOrWhereTheVariablePoints) {
  {
    const Environment unset("RELUCENT_MODEL", "");
    EXPECT_EQ(inspect_checkpoint(default_model()).architecture, "ListformerModelForSequenceClassification");
  }
  const TemporaryFolder folder;
  {
    const Environment set("RELUCENT_MODEL", folder.path().string());
    EXPECT_EQ(default_model(), folder.path());
  }
  const Environment wrong("RELUCENT_MODEL", (folder / "absent").string());
  expect_error(ErrorKind::io, "RELUCENT_MODEL", [&] { default_model(); });
}

}  // namespace
}  // namespace relucent::testing
