// Small checkpoints of every family with one file or key changed, each scored by the library whose format it is
// (tests/goldens/settings): Relucent gives the same logits, or refuses by name.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/gz_lines.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kTolerance = 1e-4;

fs::path settings_path(const std::string& name) { return fs::path("tests/goldens/settings") / name; }

json read_json(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return json::parse(in);
}

std::string content_of(const fs::path& path) {
  if (path.extension() == ".gz") {
    std::string all;
    for_each_line(path, [&](const std::string& line) { all += line + "\n"; });
    return all;
  }
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

/// Changes a file as make.py's write_file does.
void change_file(const fs::path& path, const json& change) {
  if (change.is_null()) {
    fs::remove(path);
    return;
  }
  std::string content = fs::exists(path) ? content_of(path) : "";
  if (change.contains("text")) content = change["text"];
  if (change.contains("copy")) content = content_of(golden_path(std::string(change["copy"])));
  if (change.contains("replace")) {
    for (const json& each : change["replace"]) replace_all(content, each[0], each[1]);
  }
  if (change.contains("set") || change.contains("unset")) {
    const json set = change.value("set", json::object()), unset = change.value("unset", json::array());
    json document = set.contains("") ? set[""] : content.empty() ? json::object() : json::parse(content);
    for (const auto& [pointer, value] : set.items()) {
      if (!pointer.empty()) document[json::json_pointer(pointer)] = value;
    }
    for (const std::string pointer : unset) {
      const json::json_pointer place(pointer);
      json& parent = document[place.parent_pointer()];
      parent.is_array() ? parent.erase(std::stoul(place.back())) : (parent.erase(place.back()), void());
    }
    content = document.dump();
  }
  write(path, content);
}

/// A tensor's values follow from its name, as in make.py's weights_of.
std::vector<float> values_of(const std::string& name, const std::vector<std::int64_t>& shape) {
  std::uint64_t seed = 0xCBF29CE484222325;
  for (const char byte : name) seed = (seed ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3;
  std::size_t size = 1;
  for (const std::int64_t each : shape) size *= static_cast<std::size_t>(each);
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool gain = lower.find("norm") != std::string::npos && name.ends_with("weight");
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15 + seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    const float value = (static_cast<float>(z >> 40) - 8388608.0F) / 8388608.0F;
    values[i] = shape.size() > 1 ? 0.5F * value : gain ? 1 + 0.25F * value : 0.25F * value;
  }
  return values;
}

void write_weights(const fs::path& path, const json& shapes, const json& change) {
  const std::string type = change.value("type", "F32");
  json header = json::object();
  std::string data;
  json all = shapes;
  all.update(change.value("add", json::object()));
  for (const auto& [name, shape] : all.items()) {
    std::string stored = name;
    for (const json& each : change.value("rename", json::array())) replace_all(stored, each[0], each[1]);
    bool removed = false;
    for (const std::string beginning : change.value("remove", json::array())) {
      removed = removed || stored.starts_with(beginning);
    }
    if (removed) continue;
    const std::size_t begin = data.size();
    for (const float value : values_of(name, shape)) {
      const double wide = value;
      type == "F64" ? data.append(reinterpret_cast<const char*>(&wide), sizeof wide)
                    : data.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    header[stored] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t size = text.size();
  write(path, std::string(reinterpret_cast<const char*>(&size), sizeof size) + text + data);
}

std::string last_word(const std::string& name) {
  std::string last = name.substr(name.rfind('.') + 1);
  last[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(last[0])));
  return last;
}

struct Row {
  json content;
  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.content["name"]; }
};

std::vector<Row> rows() {
  std::vector<Row> all;
  std::ifstream in(settings_path("variations.jsonl"));
  for (std::string line; std::getline(in, line);) all.push_back({json::parse(line)});
  return all;
}

class Settings : public ::testing::TestWithParam<Row> {};

TEST_P(Settings, AreHonouredOrRefusedByName) {
  static const json bases = read_json(settings_path("bases.json")), pairs = read_json(settings_path("pairs.json"));
  const json& row = GetParam().content;
  const json& base = bases.at(std::string(row["base"]));
  const TemporaryFolder folder;
  for (const json& files : {base["files"], row.value("files", json::object())}) {
    for (const auto& [name, change] : files.items()) change_file(folder.path() / name, change);
  }
  write_weights(folder.path() / "model.safetensors", base["tensors"], row.value("tensors", json::object()));

  const bool refused = row.contains("refused"), fails = row.contains("error");
  ASSERT_TRUE(fails || row.contains("logits")) << "run tests/goldens/settings/make.py --new";
  try {
    const CheckpointInfo info = inspect_checkpoint(folder.path());
    CrossEncoderOptions options;
    options.backend = {Device::cpu(), Precision::fp32, 1, ""};
    const auto model = CrossEncoder::load(folder.path(), options);
    ASSERT_FALSE(refused) << "expected a refusal that names " << row["refused"];
    ASSERT_FALSE(fails) << "the library refuses it: " << row["error"];
    const json& texts = row.contains("pairs") ? row["pairs"] : pairs;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string query = texts[i][0], text = texts[i][1];
      const std::string_view documents[] = {text};
      EXPECT_NEAR(model->score(query, documents).documents.at(0).logit, row["logits"][i].get<double>(), kTolerance)
          << texts[i];
    }
    if (row.contains("activation")) {
      EXPECT_EQ(last_word(info.activation), row["activation"].get<std::string>()) << info.activation_source;
    }
  } catch (const Error& error) {
    ASSERT_TRUE(refused || fails) << error.what();
    if (refused) {
      EXPECT_NE(std::string(error.what()).find(row["refused"].get<std::string>()), std::string::npos) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Settings, ::testing::ValuesIn(rows()), [](const auto& test) {
  std::string name = test.param.content["name"];
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace relucent::testing
