#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "relucent/config.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"

namespace relucent {
namespace {

struct Mistake {
  const char* text;
  const char* place;    // "line:column"
  const char* problem;  // a part of what() that names what is wrong
  const char* remedy;   // a part of the remedy
};

class ConfigMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(ConfigMistakes, AreErrorsWithFileLineColumnAndRemedy) {
  const Mistake& mistake = GetParam();
  const Error error = testing::expect_error(ErrorKind::invalid_data, [&] { parse_config(mistake.text, "my.toml"); });
  EXPECT_EQ(error.place(), std::string("my.toml:") + mistake.place) << error.what();
  EXPECT_NE(error.problem().find(mistake.problem), std::string::npos) << error.what();
  EXPECT_NE(error.remedy().find(mistake.remedy), std::string::npos) << error.what();
}

const Mistake kMistakes[] = {
    // Unknown names, with the nearest known one.
    {"[rescorer]\nwindwo = 3\n", "2:1", "unknown key \"windwo\" in [rescorer]", "\"window\""},
    {"[rescorer]\n  time_out_ms = 3\n", "2:3", "time_out_ms", "\"timeout_ms\""},
    {"[first_stage]\nB = 0.5\n", "2:1", "unknown key \"B\"", "\"b\""},
    {"[recorer]\nwindow = 3\n", "1:2", "unknown section [recorer]", "\"rescorer\""},
    {"[zzzzzzzz]\n", "1:2", "unknown section [zzzzzzzz]", "known: index, first_stage, rescorer, log"},
    {"[log]\ncolour = 1\n", "2:1", "colour", "known: level, file"},
    {"\nwindow = 3\n", "2:1", "unknown key \"window\"", "section"},
    {"[rescorer.cuda]\nx = 1\n", "1:11", "unknown key \"cuda\"", "known: "},
    // Wrong types.
    {"[rescorer]\nwindow = \"100\"\n", "2:10", "window must be a whole number, not a string", "1 to 100000"},
    {"[rescorer]\nwindow = 100.0\n", "2:10", "decimal point", "1 to 100000"},
    {"[rescorer]\nenabled = 1\n", "2:11", "enabled must be true or false, not a whole number", "true | false"},
    {"[first_stage]\nk1 = true\n", "2:6", "k1 must be a number, not a boolean", "0 to 1000"},
    {"[log]\nlevel = [\"info\"]\n", "2:9", "level must be a string in quotes, not an array", "trace | debug"},
    {"[log]\nfile = 1979-05-27\n", "2:8", "date", "a file's path"},
    {"log = 3\n", "1:1", "log must be a section, not a whole number", "[log]"},
    {"[[rescorer]]\nwindow = 1\n", "1:3", "rescorer must be a section, not an array", "[rescorer]"},
    // Out of range.
    {"[rescorer]\nwindow = 0\n", "2:10", "window = 0 is not allowed", "1 to 100000"},
    {"[rescorer]\nwindow = 4294967396\n", "2:10", "4294967396", "1 to 100000"},
    {"[rescorer]\ntimeout_ms = -1\n", "2:14", "-1", "0 to 2147483647"},
    {"[rescorer]\nattention_window = -2\n", "2:20", "-2", "-1 to "},
    {"[rescorer]\npattern = \"spares\"\n", "2:11", "\"spares\"", "did you mean \"sparse\"?"},
    {"[rescorer]\npattern = \"full\"\nattention_window = 4\n", "3:20", "contradicts", "no attention_window"},
    {"[rescorer]\nattention_window = -1\npattern = \"qds\"\n", "2:20", "contradicts", "0 or more"},
    {"[first_stage]\nb = 1.01\n", "2:5", "1.01", "0 to 1"},
    {"[first_stage]\nk1 = nan\n", "2:6", "nan", "0 to 1000"},
    {"[first_stage]\nscoring = \"qlm\"\n", "2:11", "\"qlm\"", "allowed: bm25 | qld | qljm"},
    {"[first_stage]\nmu = 0\n", "2:6", "0", "0.001 to 1000000000"},
    {"[first_stage]\nrm3_original_weight = 1.5\n", "2:23", "1.5", "0 to 1"},
    {"[server]\notlp_endpoint = \"localhost:4318\"\n", "2:17", "\"localhost:4318\"", "a URL of http or https"},
    {"[rescorer]\nmin_score = inf\n", "2:13", "inf", "finite"},
    {"[rescorer]\nquery_weight = -inf\n", "2:16", "-inf", "number"},
    {"[rescorer]\nscore_mode = \"sum\"\n", "2:14", "\"sum\"", "replace | total | multiply | avg | max | min"},
    {"[rescorer]\ndevice = \"gpu\"\n", "2:10", "\"gpu\"", "cuda:N"},
    {"[rescorer]\ndevice = \"cuda:\"\n", "2:10", "cuda:", "cuda:N"},
    {"[rescorer]\ndevice = \"cuda:-1\"\n", "2:10", "cuda:-1", "cuda:N"},
    {"[rescorer]\ndevice = \"cudas\"\n", "2:10", "cudas", "cuda:N"},
    {"[rescorer]\ndevice = \"cuda:1000\"\n", "2:10", "cuda:1000", "cuda:N"},
    {"[rescorer]\ndevice = \"gpu\"\n", "2:10", "\"gpu\"", "did you mean \"cuda\"? allowed: auto | "},
    {"[rescorer]\ndevice = \"cup\"\n", "2:10", "\"cup\"", "did you mean \"cpu\"?"},
    {"[rescorer]\nprecision = \"fp23\"\n", "2:13", "\"fp23\"", "did you mean \"fp32\"? allowed: auto | fp32 | "},
    {"[rescorer]\nlong_documents = \"max\"\n", "2:18", "\"max\"", "did you mean \"maxp\"?"},
    {"[first_stage]\nanalyzer = \"englich\"\n", "2:12", "\"englich\"", "did you mean \"english\"? allowed: english | "},
    {"[index]\nlanguage = \"klingon\"\n", "2:12", "\"klingon\"", "german (de)"},
    {"[index]\nlanguage = \"germany\"\n", "2:12", "\"germany\"", "did you mean \"german\"?"},
    {"[index]\nlanguage = \"fr\"\n[first_stage]\nanalyzer = \"german\"\n", "4:12", "contradicts [index] language",
     "language alone"},
    {"[index]\nkeyword_fields = [\"a\", \"a\"]\n", "2:18", "keyword_fields", "none empty or repeated"},
    {"[index]\nkeyword_fields = [\"a\"]\nnumber_fields = [\"b\", \"a\"]\n", "3:17", "\"a\" is declared twice",
     "declare it once"},
    {"[log]\nlevel = \"warn\"\n", "2:9", "\"warn\"", "allowed: trace | debug | info | warning | error | off"},
    {"[rescorer]\nfallback_device = \"ref\"\n", "2:19", "\"ref\"", "cpu | none"},
    {"[rescorer]\nfallback = \"cpu\"\n", "2:1", "unknown key \"fallback\"", "known: "},
    {"[rescorer]\nprecision = \"half\"\n", "2:13", "\"half\"", "fp16"},
    {"[rescorer]\nmodule = \"\"\n", "2:10", "\"\"", "cross-encoder"},
    {"[index]\ntext_field = \"\"\n", "2:14", "\"\"", "field"},
    {"[index]\ntext_fields = \"title\"\n", "2:15", "must be an array of strings in quotes, not a string", "array"},
    {"[index]\ntext_fields = [\"title\", 1]\n", "2:15", "must be an array of strings in quotes", "array"},
    {"[index]\ntext_fields = []\n", "2:15", "[] is not allowed", "none empty"},
    {"[index]\ntext_fields = [\"a\", \"\"]\n", "2:15", "[\"a\", \"\"] is not allowed", "none empty"},
    {"[index]\ntext_fields = [\"a\", \"a\"]\n", "2:15", "is not allowed", "repeated"},
    {"[index]\ntext_field = \"body\"\ntext_fields = [\"a\"]\n", "3:15", "both set", "set one of them"},
    {"[index]\npath = \"a\\u0000b\"\n", "2:8", "a", "path"},
    {"[rescorer]\nchunk = 10\nstride = 11\n", "3:10", "stride = 11 is above chunk = 10", "at most chunk"},
    // Stages.
    {"[[rescorer.stages]]\nwindwo = 3\n", "2:1", "unknown key \"windwo\" in [[rescorer.stages]]", "\"window\""},
    {"[[rescorer.stages]]\nstages = []\n", "2:1", "unknown key \"stages\"", "known: "},
    {"[[rescorer.stages]]\n[[rescorer.stages]]\nwindow = \"9\"\n", "3:10", "must be a whole number", "1 to 100000"},
    {"[[rescorer.stages]]\ntimeout_ms = 3\n", "2:1", "timeout_ms holds for all stages", "set it in [rescorer]"},
    {"[rescorer.stages]\nwindow = 3\n", "1:1", "stages must be sections, not a section", "[[rescorer.stages]]"},
    {"[rescorer]\nstages = [1]\n", "2:11", "a stage must be a section, not a whole number", "[[rescorer.stages]]"},
    {"[[rescorer.stages]]\nwindow = 5\n[[rescorer.stages]]\nwindow = 6\n", "4:10",
     "window = 6 is above the window of the stage before, 5", "become smaller"},
    {"[[rescorer.stages]]\nchunk = 10\nstride = 11\n", "3:10", "stride = 11 is above chunk = 10", "at most chunk"},
    {"[rescorer]\nstages = [{}, {}, {}, {}, {}, {}, {}, {}, {}]\n", "2:43", "more than 8 stages", "fewer"},
    // Not TOML.
    {"[rescorer]\nwindow = \n", "2:10", "", "toml.io"},
    {"[rescorer\n", "1:10", "", "toml.io"},
    {"[rescorer]\nwindow = 1\nwindow = 2\n", "3:10", "", "toml.io"},
    {"[log]\nfile = \"\xff\"\n", "2:8", "", "toml.io"},
};

INSTANTIATE_TEST_SUITE_P(All, ConfigMistakes, ::testing::ValuesIn(kMistakes));

TEST(ConfigMistakesAcrossFiles, TheFirstMistakeInTheTextIsReported) {
  try {
    parse_config("[rescorer]\nzzz = 1\naaa = 1\n[index]\naaa = 1\n", "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), "x:2:1");
  }
}

TEST(ConfigMistakesAcrossFiles, AStrideAboveTheDefaultChunkNamesTheFile) {
  EXPECT_THROW(parse_config("[rescorer]\nstride = 226\n", "x"), Error);
  EXPECT_NO_THROW(parse_config("[rescorer]\nstride = 225\n", "x"));
}

TEST(ConfigMistakesAcrossFiles, UnreadableFilesAreInputOutputErrors) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  for (const auto& path : {folder / "relucent_no_such_profile.toml", folder}) {
    const Error error = testing::expect_error(ErrorKind::io, [&] { load_config(path); });
    EXPECT_EQ(error.place(), path.string());
    EXPECT_FALSE(error.remedy().empty());
  }
}

TEST(ConfigMistakesAcrossFiles, AFileFarTooLargeIsRefusedWithoutReadingItAll) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "relucent_large_profile.toml";
  std::ofstream(file) << "#";
  std::filesystem::resize_file(file, std::uintmax_t{1} << 33);  // sparse
  EXPECT_THROW(load_config(file), Error);
  std::filesystem::remove(file);
}

TEST(ConfigMistakesAcrossFiles, DeepNestingIsAnErrorNotAnOverflow) {
  EXPECT_THROW(parse_config("x = " + std::string(100'000, '['), "x"), Error);
  EXPECT_THROW(parse_config("x = " + std::string(100'000, '{'), "x"), Error);
}

TEST(ConfigMistakesAcrossFiles, AConfigFilledInByAProgramIsCheckedByTheSameRules) {
  EXPECT_NO_THROW(check_config(Config()));
  Config config;
  config.first_stage.k1 = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(check_config(config), Error);
  config = {};
  config.rescorer.window = 0;
  const Error error = testing::expect_error(ErrorKind::usage, [&] { check_config(config); });
  EXPECT_EQ(error.place(), "[rescorer] window");
  config = {};
  config.rescorer.device = Device::cuda(-1);
  EXPECT_THROW(check_config(config), Error);
  config = {};
  config.log.level = static_cast<LogLevel>(99);
  EXPECT_THROW(check_config(config), Error);
  config = {};
  config.rescorer.chunk = 3;
  EXPECT_THROW(check_config(config), Error);
}

}  // namespace
}  // namespace relucent
