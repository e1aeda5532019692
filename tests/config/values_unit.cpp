#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "relucent/config.h"

namespace relucent {
namespace {

Config far_from_the_defaults() {
  Config config;
  config.index = {
      "some \"quoted\" \\ folder\twith\x7f control", "docno", "body", "terms", true, IndexCheck::checksums, {}};
  config.index.language = AnalyzerKind::whitespace;
  config.index.keyword_fields = {"lang", "so \"urce\""};
  config.index.number_fields = {"year"};
  config.index.analyzed_fields = {"title", "ab stract"};
  config.first_stage = {.scoring = FirstStageScoring::qljm,
                        .k1 = 1.2,
                        .b = 0.75,
                        .analyzer = AnalyzerKind::whitespace,
                        .hits = 7,
                        .count = 5000,
                        .mu = 20,
                        .lambda = 0.3,
                        .rm3 = true,
                        .rm3_terms = 5,
                        .rm3_documents = 6,
                        .rm3_original_weight = 0.25,
                        .rm3_ascii_terms = false,
                        .fields = {"terms^2.5"}};
  auto& rescorer = config.rescorer;
  rescorer.enabled = false;
  rescorer.module = "./ücker.so";
  rescorer.model = "model";
  rescorer.device = Device::cuda(12);
  rescorer.fallback_device = FallbackDevice::none;
  rescorer.precision = Precision::tf32;
  rescorer.threads = 3;
  rescorer.window = 50;
  rescorer.max_length = 256;
  rescorer.max_query_length = 64;
  rescorer.instruction = "Find \"bread\"\n";
  rescorer.attention_window = 9;
  rescorer.pattern = PatternChoice::qds;
  rescorer.score_mode = ScoreMode::avg;
  rescorer.query_weight = 0.1 + 0.2;  // 17 digits
  rescorer.rescore_weight = -1e-300;
  rescorer.normalize = Normalize::sigmoid;
  rescorer.min_score = -3.0;
  rescorer.timeout = std::chrono::milliseconds(1500);
  rescorer.on_error = OnError::fail;
  rescorer.missing_embeddings = MissingEmbeddings::encode;
  rescorer.long_documents = LongDocuments::sump;
  rescorer.chunk_by = ChunkBy::sentences;
  rescorer.keep_chunks = KeepChunks::first;
  rescorer.chunk = 300;
  rescorer.stride = 150;
  rescorer.max_chunks = 5;
  rescorer.top_chunks = 2;
  rescorer.missing_graphs = MissingGraphs::make;
  rescorer.find_passages = false;
  rescorer.cache_mb = 64;
  config.log = {LogLevel::off, "a.log"};
  using std::chrono::milliseconds;
  config.server = {"::1",
                   1,
                   "tokens",
                   "X-Real-IP",
                   "name",
                   "access.log",
                   "https://collector:4318/a",
                   2,
                   3,
                   4,
                   5000,
                   6000,
                   7,
                   8,
                   9,
                   16,
                   milliseconds(11),
                   milliseconds(12),
                   milliseconds(13),
                   milliseconds(14),
                   milliseconds(15)};
  return config;
}

/// The same with the key that excludes another of its keys.
Config with_several_fields() {
  Config config = far_from_the_defaults();
  config.index.text_field = "text";
  config.index.text_fields = {"title \"x\"", "body"};
  return config;
}

TEST(ConfigValues, EmptyTextGivesTheDefaults) { EXPECT_EQ(parse_config("", "test"), Config()); }

TEST(ConfigValues, WrittenTomlReadsBackToTheSameConfig) {
  EXPECT_EQ(parse_config(to_toml(Config()), "test"), Config());
  for (const Config& other : {far_from_the_defaults(), with_several_fields()}) {
    EXPECT_EQ(parse_config(to_toml(other), "test"), other) << to_toml(other);
    EXPECT_NE(other, Config());
  }
}

// A key that the schema forgot, or whose entry reads or writes another field, changes nothing or something else here.
TEST(ConfigValues, EveryKeyIsWrittenOnceAndSetsAFieldOfItsOwn) {
  const std::string several = to_toml(with_several_fields());
  const std::size_t line_of_fields = several.find("\ntext_fields = ");
  const std::string written =
      to_toml(far_from_the_defaults()) + "[index]" +
      several.substr(line_of_fields, several.find('\n', line_of_fields + 1) + 1 - line_of_fields);
  std::set<std::string> seen;
  std::string section, line;
  std::istringstream lines(written);
  while (std::getline(lines, line)) {
    if (line.starts_with("[")) section = line;
    if (line.empty() || line[0] == '#' || line[0] == '[') continue;
    const Config one = parse_config(section + "\n" + line, "test");
    EXPECT_NE(one, Config()) << line;
    EXPECT_TRUE(seen.insert(to_toml(one)).second) << line;
  }
  EXPECT_EQ(seen.size(), config_keys().size());
}

TEST(ConfigValues, ANumberNeedsNoDecimalPoint) {
  const Config config = parse_config("[first_stage]\nk1 = 2\nb = 1\n[rescorer]\nmin_score = -1", "test");
  EXPECT_EQ(config.first_stage.k1, 2.0);
  EXPECT_EQ(config.first_stage.b, 1.0);
  EXPECT_EQ(config.rescorer.min_score, -1.0);
}

TEST(ConfigValues, KeysMayBeDottedAndSectionsInline) {
  const Config config = parse_config("rescorer.window = 7\nlog = {level = \"info\"}", "test");
  EXPECT_EQ(config.rescorer.window, 7);
  EXPECT_EQ(config.log.level, LogLevel::info);
}

TEST(ConfigValues, RelativePathsAreTakenFromTheProfilesFolder) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "relucent_config_values";
  std::filesystem::create_directories(folder);
  const auto file = folder / "profile.toml";
  std::ofstream(file) << "[index]\npath = \"../index\"\n[rescorer]\nmodel = \"/models/one\"\nmodule = \"sub/mine.so\"\n"
                         "[log]\nfile = \"x.log\"\n";
  const Config config = load_config(file);
  EXPECT_EQ(config.index.path, (folder.parent_path() / "index").lexically_normal().string());
  EXPECT_EQ(config.rescorer.model, "/models/one");
  EXPECT_EQ(config.rescorer.module, (folder / "sub/mine.so").string());
  EXPECT_EQ(config.log.file, (folder / "x.log").string());

  std::ofstream(file) << "[rescorer]\nmodule = \"cross-encoder\"\n";
  EXPECT_EQ(load_config(file), Config());
  std::filesystem::remove_all(folder);
}

TEST(ConfigValues, NamesOfChoicesAreThoseOfTheProfiles) {
  EXPECT_EQ(to_string(ScoreMode::multiply), "multiply");
  EXPECT_EQ(to_string(Normalize::minmax), "minmax");
  EXPECT_EQ(to_string(OnError::first_stage), "first_stage");
  EXPECT_EQ(to_string(FirstStageScoring::qld), "qld");
  EXPECT_EQ(to_string(MissingEmbeddings::encode), "encode");
  EXPECT_EQ(to_string(LongDocuments::firstp), "firstp");
  EXPECT_EQ(to_string(ChunkBy::sentences), "sentences");
  EXPECT_EQ(to_string(KeepChunks::first), "first");
  EXPECT_EQ(to_string(IndexCheck::checksums), "checksums");
  EXPECT_EQ(to_string(AnalyzerKind::standard), "standard");
  EXPECT_EQ(to_string(FallbackDevice::none), "none");
  EXPECT_EQ(to_string(MissingGraphs::make), "make");
  EXPECT_EQ(to_string(LogLevel::warning), "warning");
  EXPECT_EQ(analyzer_from("whitespace"), AnalyzerKind::whitespace);
  EXPECT_EQ(analyzer_from("klingon"), std::nullopt);
}

TEST(ConfigValues, ALanguageIsNamedInEnglishOrByItsCode) {
  EXPECT_EQ(language_from("german"), AnalyzerKind::german);
  EXPECT_EQ(language_from("De"), AnalyzerKind::german);
  EXPECT_EQ(language_from("zh"), AnalyzerKind::chinese);
  EXPECT_EQ(language_from("simple"), AnalyzerKind::simple);
  EXPECT_EQ(language_from("xx"), std::nullopt);
  EXPECT_EQ(parse_config("[index]\nlanguage = \"FA\"\n", "test").index.language, AnalyzerKind::persian);
  for (int kind = 0; kind <= static_cast<int>(AnalyzerKind::turkish); ++kind) {
    const auto analyzer = static_cast<AnalyzerKind>(kind);
    EXPECT_EQ(language_from(to_string(analyzer)), analyzer);
  }
  EXPECT_EQ(analyzer_of(parse_config("[first_stage]\nanalyzer = \"standard\"\n", "test").index,
                        parse_config("[first_stage]\nanalyzer = \"standard\"\n", "test").first_stage),
            AnalyzerKind::standard);
}

TEST(ConfigValues, EveryNameOfADeviceIsReadOnce) {
  const std::pair<const char*, Device> devices[] = {{"auto", Device::automatic()}, {"ref", Device::ref()},
                                                    {"cpu", Device::cpu()},        {"cuda", Device::every_gpu()},
                                                    {"cuda:0", Device::cuda(0)},   {"cuda:123", Device::cuda(123)}};
  for (const auto& [name, device] : devices) {
    const Config config = parse_config("[rescorer]\ndevice = \"" + std::string(name) + "\"\n", "test");
    EXPECT_EQ(config.rescorer.device, device) << name;
    EXPECT_EQ(to_string(device), name);
  }
  EXPECT_EQ(parse_config("[rescorer]\ndevice = \"cuda:07\"\n", "test").rescorer.device, Device::cuda(7));
}

}  // namespace
}  // namespace relucent
