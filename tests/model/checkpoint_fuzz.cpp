// Damaged bytes, thousands of times, with a fixed seed: every one is refused by an Error or computes finite
// scores.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/formats/safetensors.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937;

std::size_t below(Random& random, std::size_t limit) { return limit == 0 ? 0 : random() % limit; }

/// One of: flipped bits, overwritten bytes, a cut, a stretch taken out, doubled or inserted.
void damage(std::string& bytes, std::size_t reach, Random& random) {
  const std::size_t at = below(random, std::min(reach, bytes.size()));
  const std::size_t length = 1 + below(random, 12);
  switch (random() % 6) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
    case 1: bytes[at] = static_cast<char>(random()); break;
    case 2: bytes.resize(below(random, bytes.size())); break;
    case 3: bytes.erase(at, length); break;
    case 4: bytes.insert(at, bytes.substr(at, length)); break;
    default: bytes.insert(at, 1, "0123456789{}[]\",:-.e"[random() % 20]); break;
  }
  if (bytes.empty()) bytes = "x";
}

/// Damages `name` of the checkpoint in `folder` `rounds` times, the first `reach` bytes of it, and loads the result.
void fuzz(const fs::path& folder, const char* name, std::size_t reach, int rounds, unsigned seed) {
  const std::string sound = read_file(folder / name);
  Random random(seed);
  int refused = 0, loaded = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = sound;
    const int refused_before = refused;
    for (std::size_t i = 0, times = 1 + below(random, 3); i < times; ++i) damage(bytes, reach, random);
    write_file(folder / name, bytes);
    try {
      CrossEncoderOptions options;
      options.backend.device = Device::ref();
      const auto model = CrossEncoder::load(folder, options);
      const std::string_view document = "a b c";
      const float logit = model->score("q", {&document, 1}).documents[0].logit;
      ASSERT_TRUE(std::isfinite(logit));
      ++loaded;
    } catch (const Error& error) {
      ASSERT_FALSE(error.problem().empty());
      ASSERT_NE(error.kind(), ErrorKind::internal) << error.what();
      ++refused;
    }
    // A checkpoint that cannot be loaded has problems; the search for all of them must also survive.
    if (round % 16 == 0) {
      const auto check = check_checkpoint(folder, {.device = Device::ref(), .instruction_set = {}});
      ASSERT_TRUE(refused == refused_before || !check.problems.empty());
    }
  }
  EXPECT_GT(refused, 0);
  std::cout << name << ": " << refused << " refused, " << loaded << " loaded\n";
}

/// The same for a tiny checkpoint.
void fuzz(const char* name, std::size_t reach, int rounds, unsigned seed) {
  const TemporaryFolder folder;
  TinyCheckpoint().write(folder.path());
  fuzz(folder.path(), name, reach, rounds, seed);
}

/// Valid JSON with another meaning: the header's fields exchanged for others.
TEST(CheckpointFuzz, SafetensorsHeaderFields) {
  using nlohmann::ordered_json;
  const TemporaryFolder folder;
  const TinyCheckpoint sound;
  const std::string whole = safetensors_bytes(sound.tensors);
  std::uint64_t length = 0;
  std::memcpy(&length, whole.data(), sizeof length);
  const ordered_json header = ordered_json::parse(whole.substr(8, length));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : sound.tensors) names.push_back(name);
  Random random(8);
  const std::uint64_t numbers[] = {0, 1, 2, 4, 8, 57, 64, 255, 1ULL << 31, 1ULL << 32, 1ULL << 62, 1ULL << 63, ~0ULL};
  const char* types[] = {"F32", "F16", "BF16", "F64", "I64", "BOOL", "U8", "F8_E4M3", "F4", ""};
  for (int round = 0; round < 5000; ++round) {
    ordered_json changed = header;
    for (std::size_t i = 0, times = 1 + below(random, 3); i < times; ++i) {
      ordered_json& tensor = changed[names[below(random, names.size())]];
      const ordered_json& other = header[names[below(random, names.size())]];
      switch (random() % 6) {
        case 0: tensor["dtype"] = types[random() % std::size(types)]; break;
        case 1: tensor["shape"][below(random, 3)] = numbers[random() % std::size(numbers)]; break;
        case 2: tensor["data_offsets"][random() % 2] = numbers[random() % std::size(numbers)]; break;
        case 3: tensor["data_offsets"] = other["data_offsets"]; break;
        case 4: tensor["shape"] = other["shape"]; break;
        default: tensor = other; break;
      }
    }
    const std::string json = changed.dump();
    const std::uint64_t size = json.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &size, sizeof size);
    write_file(folder / "a.safetensors", bytes + json + whole.substr(8 + length));
    try {
      const auto file = SafetensorsFile::open(folder / "a.safetensors");
      std::uint64_t covered = 0;
      for (const SafetensorsEntry& entry : file.entries()) {
        covered += file.data(entry).size();
        if (!floating_type(entry.type)) continue;
        ASSERT_EQ(file.view(entry).elements(), file.view(entry).to_f32().size());
      }
      ASSERT_EQ(covered, whole.size() - 8 - length);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::invalid_data);
      ASSERT_NE(error.place().find("tensor"), std::string::npos) << error.what();
    }
  }
}

TEST(CheckpointFuzz, SafetensorsHeader) { fuzz("model.safetensors", 4000, 6000, 1); }
TEST(CheckpointFuzz, SafetensorsAnywhere) {
  fuzz("model.safetensors", std::numeric_limits<std::size_t>::max(), 3000, 2);
}
TEST(CheckpointFuzz, SafetensorsLength) { fuzz("model.safetensors", 8, 500, 3); }
TEST(CheckpointFuzz, SafetensorsIndex) {
  const TemporaryFolder folder;
  TinyCheckpoint sound;
  sound.write(folder.path());
  fs::remove(folder / "model.safetensors");
  std::map<std::string, TinyTensor> parts[2];
  nlohmann::json index;
  for (const auto& [name, tensor] : sound.tensors) {
    const bool first = index["weight_map"].size() < 20;
    index["weight_map"][name] = first ? "a.safetensors" : "b.safetensors";
    parts[first ? 0 : 1][name] = tensor;
  }
  write_file(folder / "a.safetensors", safetensors_bytes(parts[0]));
  write_file(folder / "b.safetensors", safetensors_bytes(parts[1]));
  write_file(folder / "model.safetensors.index.json", index.dump());
  fuzz(folder.path(), "model.safetensors.index.json", std::numeric_limits<std::size_t>::max(), 2000, 9);
}
TEST(CheckpointFuzz, Config) { fuzz("config.json", std::numeric_limits<std::size_t>::max(), 4000, 4); }
TEST(CheckpointFuzz, Vocabulary) { fuzz("vocab.txt", std::numeric_limits<std::size_t>::max(), 1000, 5); }
TEST(CheckpointFuzz, TokenizerConfig) {
  fuzz("tokenizer_config.json", std::numeric_limits<std::size_t>::max(), 1000, 6);
}

TEST(TokenizerFuzz, AnyBytesGiveIdsOfTheVocabularyAndPrefixesAgree) {
  const TemporaryFolder folder;
  TinyCheckpoint().write(folder.path());
  const Checkpoint checkpoint = read_checkpoint(folder.path());
  Random random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(below(random, 40), '\0');
    for (char& byte : text) {
      // Half of it close to UTF-8, so that whole characters and cut ones both occur.
      byte = static_cast<char>(random() % 2 == 0 ? random() : "ab \xC3\xE4\xED\xF0\xF4\x80\xBF\xA0"[random() % 11]);
    }
    std::vector<std::int32_t> all, some;
    checkpoint.tokenizer->encode(text, 1000, all);
    for (const std::int32_t id : all) {
      ASSERT_GE(id, 0);
      ASSERT_LT(id, checkpoint.tokenizer->vocabulary_size());
    }
    const std::size_t limit = below(random, 10);
    const bool more = checkpoint.tokenizer->encode(text, limit, some);
    ASSERT_EQ(more, all.size() > limit);
    ASSERT_EQ(some, std::vector<std::int32_t>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some.size())));
  }
}

}  // namespace
}  // namespace relucent::testing
