// Damaged, foreign and contradictory checkpoints: each is refused with the file, the place and the remedy.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <functional>

#include "model/families/tensor_reader.h"
#include "model/formats/json_file.h"
#include "model/formats/safetensors.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/cost.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string with_header(const std::string& header, const std::string& data = {}) {
  std::string length(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(length.data(), &size, sizeof size);
  return length + header + data;
}

class FaultyCheckpoint : public ::testing::Test {
 protected:
  TinyCheckpoint checkpoint;
  TemporaryFolder temporary;
  fs::path folder = temporary / "model";

  /// Loading fails with an Error of `kind` whose place is that of `file` in the folder (and holds `place`),
  /// whose problem holds `problem` and which has a remedy.
  void refused(ErrorKind kind, const std::string& file, const std::string& place, const std::string& problem,
               const std::string& remedy = {}) {
    const Error error = expect_error(kind, [&] { CrossEncoder::load(folder); });
    const std::string path = file.empty() ? folder.string() : (folder / file).string();
    EXPECT_TRUE(error.place().starts_with(path)) << error.what();
    EXPECT_NE(error.place().find(place), std::string::npos) << error.what();
    EXPECT_NE(error.problem().find(problem), std::string::npos) << error.what();
    EXPECT_FALSE(error.remedy().empty()) << error.what();
    EXPECT_NE(error.remedy().find(remedy), std::string::npos) << error.what();
  }

  void weights_refused(const std::string& bytes, const std::string& place, const std::string& problem,
                       const std::string& remedy = {}) {
    checkpoint.write(folder);
    write_file(folder / "model.safetensors", bytes);
    refused(ErrorKind::invalid_data, "model.safetensors", place, problem, remedy);
  }

  void key_refused(ErrorKind kind, const std::string& key, const json& value, const std::string& problem) {
    SCOPED_TRACE(key + " = " + value.dump());
    TinyCheckpoint changed = checkpoint;
    changed.config[key] = value;
    changed.write(folder);
    refused(kind, "config.json", "key " + key, problem);
  }
};

TEST_F(FaultyCheckpoint, TheSoundOneIsInspected) {
  checkpoint.write(folder);
  EXPECT_EQ(inspect_checkpoint(folder).description.stacks.front().layers.size(), 2U);
}

TEST_F(FaultyCheckpoint, MissingFolderAndFiles) {
  refused(ErrorKind::io, "", "", "the model directory does not exist", "path");
  for (const char* file : {"config.json", "model.safetensors"}) {
    checkpoint.write(folder);
    fs::remove(folder / file);
    refused(ErrorKind::io, file, "", "opening: No such file");
  }
  checkpoint.write(folder);
  fs::remove(folder / "vocab.txt");
  refused(ErrorKind::io, "", "", "neither vocab.txt nor tokenizer.json", "download");
  write_file(folder / "spiece.model", "x");
  refused(ErrorKind::invalid_data, "spiece.model", "byte 1", "ends too early", "download");
  write_file(folder / "other.model", "x");
  refused(ErrorKind::invalid_data, "", "", "several SentencePiece models, other.model and spiece.model", "remove");
}

TEST_F(FaultyCheckpoint, FolderThatIsAFileAndFilesThatAreFolders) {
  write_file(folder, "x");
  refused(ErrorKind::io, "", "", "is not a directory");
  fs::remove(folder);
  checkpoint.write(folder);
  fs::remove(folder / "config.json");
  fs::create_directory(folder / "config.json");
  refused(ErrorKind::io, "config.json", "", "is a directory");
  fs::remove(folder / "config.json");
  ASSERT_EQ(::mkfifo((folder / "config.json").c_str(), 0600), 0);
  refused(ErrorKind::io, "config.json", "", "not a regular file");
}

TEST_F(FaultyCheckpoint, JsonThatNoNumberTypeHolds) {
  checkpoint.write(folder);
  write_file(folder / "config.json", R"({"model_type": "bert", "layer_norm_eps": 1e999})");
  refused(ErrorKind::invalid_data, "config.json", "after key layer_norm_eps", "1e999", "correct the file");
  write_file(folder / "config.json", R"({"a": {"b": [0, -1e999]}})");
  refused(ErrorKind::invalid_data, "config.json", "after key b", "1e999", "correct the file");
  write_file(folder / "config.json", "1e999");
  refused(ErrorKind::invalid_data, "config.json", "", "1e999", "correct the file");
}

TEST_F(FaultyCheckpoint, WeightsInAnotherForm) {
  folder = temporary / "it's a model";
  checkpoint.write(folder);
  fs::rename(folder / "model.safetensors", folder / "weights");
  write_file(folder / "training_args.bin", "x");
  write_file(folder / "optimizer.pt", "x");
  refused(ErrorKind::io, "model.safetensors", "", "No such file");
  const auto only = [&](const char* name, const std::string& problem, const std::string& remedy) {
    SCOPED_TRACE(name);
    fs::rename(folder / "weights", folder / name);
    refused(ErrorKind::unsupported, name, "", problem, remedy);
    fs::rename(folder / name, folder / "weights");
  };
  const std::string quoted = temporary.path().string() + "/it'\\''s a model'";
  only("pytorch_model.bin", "PyTorch's", "run: relucent model convert '" + quoted + " NEW_DIR");
  only("model.bin", "PyTorch's",
       "python3 -c \"import sys; from transformers import AutoModelForSequenceClassification as M; "
       "M.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[1], safe_serialization=True)\" '" +
           quoted);
  only("pytorch_model-00001-of-00002.bin", "PyTorch's", "save_pretrained");
  only("model.pt", "PyTorch's", "save_pretrained");
  only("tf_model.h5", "TensorFlow's", "from_tf=True");
  only("flax_model.msgpack", "Flax's", "from_flax=True");
  only("model.onnx", "ONNX's", "download model.safetensors");
  only("adapter_model.safetensors", "not that of a whole model", "merged");
  fs::rename(folder / "weights", folder / "model.safetensors");
  write_file(folder / "pytorch_model.bin", "x");
  EXPECT_EQ(inspect_checkpoint(folder).weight_type, "F32");
  write_file(folder / "model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  refused(ErrorKind::invalid_data, "model.safetensors", "", "Git LFS pointer", "git lfs pull");
}

class FaultyShards : public FaultyCheckpoint {
 protected:
  json map;
  const std::string index = "model.safetensors.index.json", first = "a.safetensors", second = "b.safetensors";
  std::map<std::string, TinyTensor> in_first, in_second;

  void SetUp() override {
    checkpoint.write(folder);
    fs::remove(folder / "model.safetensors");
    for (const auto& [name, tensor] : checkpoint.tensors) {
      const bool early = map.size() < 10;
      map[name] = early ? first : second;
      (early ? in_first : in_second)[name] = tensor;
    }
    write();
  }
  void write() const {
    write_file(folder / first, safetensors_bytes(in_first));
    write_file(folder / second, safetensors_bytes(in_second));
    write_index(map);
  }
  void write_index(const json& weight_map) const {
    write_file(folder / index, json{{"metadata", {{"total_size", 1}}}, {"weight_map", weight_map}}.dump());
  }
};

TEST_F(FaultyShards, SoundOnesAreOneCheckpoint) {
  const CheckpointInfo info = inspect_checkpoint(folder);
  EXPECT_EQ(info.tensors.size(), checkpoint.tensors.size());
  EXPECT_EQ(info.file_bytes, fs::file_size(folder / first) + fs::file_size(folder / second));
}

TEST_F(FaultyShards, FilesThatAreMissingOrElsewhere) {
  const std::string tensor = map.begin().key();
  fs::remove(folder / second);
  refused(ErrorKind::io, index, "", "1 of its 2 files is missing: b.safetensors", "download");
  fs::remove(folder / first);
  refused(ErrorKind::io, index, "", "2 of its 2 files are missing: a.safetensors, b.safetensors", "download");
  write();
  fs::create_directory(folder / "sub");
  write_file(temporary / "x.safetensors", safetensors_bytes(in_first));
  for (const std::string& name : {std::string("../x.safetensors"), std::string("/etc/passwd"), std::string("sub/x"),
                                  std::string(".."), std::string("."), std::string(), std::string("a\0b", 3)}) {
    json changed = map;
    changed[tensor] = name;
    write_index(changed);
    refused(ErrorKind::invalid_data, index, "weight_map." + tensor, "not a file in the same directory");
  }
  json changed = map;
  changed[tensor] = 1;
  write_index(changed);
  refused(ErrorKind::invalid_data, index, "weight_map." + tensor, "not a file's name");
  changed = json::object();
  for (int i = 0; i < 1001; ++i) changed["t" + std::to_string(i)] = std::to_string(i);
  write_index(changed);
  refused(ErrorKind::invalid_data, index, "weight_map.", "more than 1000 files");
  for (const json& none : {json(), json::object(), json::array({1}), json("x")}) {
    write_index(none);
    refused(ErrorKind::invalid_data, index, "key weight_map", "which file has which tensor");
  }
  write_file(folder / index, "{\"weight_map\": {\"a\": \"x\", \"a\": \"y\"}}");
  refused(ErrorKind::invalid_data, index, "key a", "appears twice");
}

TEST_F(FaultyShards, TensorsThatTheIndexStatesOtherwise) {
  const auto& [name, tensor] = *in_first.begin();
  in_second[name] = tensor;  // in both
  write();
  refused(ErrorKind::invalid_data, second, "tensor " + name, "not among those", "same place");
  in_second.erase(name);
  write();
  json changed = map;
  changed[name] = second;
  write_index(changed);
  refused(ErrorKind::invalid_data, first, "tensor " + name, "not among those");
  changed = map;
  changed["bert.more"] = first;
  write_index(changed);
  refused(ErrorKind::invalid_data, first, "tensor bert.more", "is missing, but " + index + " states it");
  changed = map;
  changed.erase(name);
  write_index(changed);
  refused(ErrorKind::invalid_data, first, "tensor " + name, "not among those");
  write();
  write_file(folder / second, "damaged");
  refused(ErrorKind::invalid_data, second, "byte 7", "header's length");
}

TEST_F(FaultyCheckpoint, TruncatedSafetensorsAtEveryLength) {
  const std::string whole = safetensors_bytes(checkpoint.tensors);
  weights_refused("", "byte 0", "ends within the header's length", "download the file again: it has only 0 bytes");
  weights_refused(whole.substr(0, 7), "byte 7", "ends within the header's length", "it has only 7 bytes");
  weights_refused(whole.substr(0, 100), "byte 100", "ends within the header", "it has 100 bytes");
  weights_refused(
      whole.substr(0, whole.size() - 1), "tensor classifier.weight", "ends before the tensor does",
      "it has " + std::to_string(whole.size() - 1) + " bytes, but the header states " + std::to_string(whole.size()));
  weights_refused(whole + "x", "byte " + std::to_string(whole.size()), "bytes follow the last tensor",
                  "states " + std::to_string(whole.size()));
  for (std::size_t length = 0; length < whole.size(); length += 61) {
    write_file(folder / "model.safetensors", whole.substr(0, length));
    refused(ErrorKind::invalid_data, "model.safetensors", "", "", "download the file again");
  }
}

TEST_F(FaultyCheckpoint, HeaderThatIsNotOne) {
  weights_refused(std::string(8, '\xFF') + "{}", "byte 0", "states a header of 18446744073709551615 bytes");
  std::string huge(8, '\0');
  const std::uint64_t length = 100'000'001;
  std::memcpy(huge.data(), &length, sizeof length);
  weights_refused(huge + "{}", "byte 0", "at most 100000000");
  weights_refused(with_header("[]"), "byte 8", "does not begin with '{'");
  weights_refused(with_header(" {}"), "byte 8", "does not begin with '{'");
  weights_refused(with_header(""), "byte 8", "does not begin with '{'");
  weights_refused(with_header("{\"a\" 1}"), "byte ", "not valid JSON");
  weights_refused(with_header("{} x"), "byte ", "not valid JSON");
  weights_refused(with_header("{\"a\xFF\": {}}"), "byte ", "not valid JSON");
}

TEST_F(FaultyCheckpoint, HeaderEntriesOutOfForm) {
  const std::string four = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  const auto entry = [](const std::string& fields) { return with_header("{\"a\":{" + fields + "}}", "1234"); };
  weights_refused(with_header("{\"a\":{" + four + "},\"a\":{" + four + "}}", "1234"), "tensor a", "appears twice");
  weights_refused(entry(four + R"(,"dtype":"F32")"), "tensor a", "key dtype twice");
  weights_refused(entry(four + R"(,"stride":[1])"), "tensor a", "key stride");
  weights_refused(entry(R"("dtype":"F32","shape":[1])"), "tensor a", "no data_offsets");
  weights_refused(entry(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"), "tensor a", "unknown data type F31");
  weights_refused(entry(R"("dtype":32,"shape":[1],"data_offsets":[0,4])"), "tensor a", "a number");
  weights_refused(entry(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), "tensor a", "negative");
  weights_refused(entry(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), "tensor a", "whole number");
  weights_refused(entry(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])"), "tensor a", "a string");
  weights_refused(entry(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"), "tensor a", "a list");
  weights_refused(entry(R"("dtype":"F32","shape":null,"data_offsets":[0,4])"), "tensor a", "null");
  weights_refused(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), "tensor a", "must have two numbers");
  weights_refused(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])"), "tensor a", "more than two");
  weights_refused(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551616])"), "tensor a",
                  "whole number");
  weights_refused(with_header(R"({"a":[]})"), "tensor a", "a list");
  weights_refused(with_header(R"({"__metadata__":{"a":1}})"), "__metadata__", "a number");
}

TEST_F(FaultyCheckpoint, OffsetsThatOverlapLeaveHolesOrOverflow) {
  const auto two = [](const std::string& first, const std::string& second, const std::string& shape = "[1]") {
    return with_header(R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + first +
                           R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}",
                       "12345678");
  };
  weights_refused(two("[0,4]", "[0,4]"), "tensor b", "overlaps");
  weights_refused(two("[0,4]", "[2,6]"), "tensor b", "overlaps");
  weights_refused(two("[0,4]", "[6,10]"), "tensor b", "gap of 2 bytes");
  weights_refused(two("[1,5]", "[5,9]"), "tensor a", "gap of 1 bytes");
  weights_refused(two("[4,0]", "[4,8]"), "tensor a", "ends before it");
  weights_refused(two("[0,5]", "[5,9]"), "tensor a", "has 5 bytes, but its type and shape need 4");
  weights_refused(two("[0,4]", "[4,8]", "[4611686018427387904,4]"), "tensor a", "more than 2^64");
  weights_refused(two("[0,4]", "[4,8]", "[18446744073709551615,0]"), "tensor a", "more than 2^64");
  weights_refused(two("[0,4]", "[18446744073709551612,18446744073709551615]"), "tensor b", "has 3 bytes");
  weights_refused(two("[0,4]", "[18446744073709551611,18446744073709551615]"), "tensor b", "gap");
}

TEST_F(FaultyCheckpoint, EveryTensorMissing) {
  for (const auto& [name, tensor] : checkpoint.tensors) {
    TinyCheckpoint changed = checkpoint;
    changed.tensors.erase(name);
    changed.write(folder);
    refused(ErrorKind::invalid_data, "model.safetensors", "tensor " + name, "missing", "config.json");
  }
}

TEST_F(FaultyCheckpoint, EveryTensorOfTheWrongShapeOrType) {
  for (const auto& [name, tensor] : checkpoint.tensors) {
    TinyCheckpoint changed = checkpoint;
    changed.tensors[name].shape.insert(changed.tensors[name].shape.begin(), 1);
    changed.write(folder);
    refused(ErrorKind::invalid_data, "model.safetensors", "tensor " + name, "has the shape [1, ", "same model");
    changed = checkpoint;
    changed.tensors[name].type = "I32";
    changed.write(folder);
    refused(ErrorKind::unsupported, "model.safetensors", "tensor " + name, "data type I32", "convert");
  }
}

TEST_F(FaultyCheckpoint, LayersBeyondThoseOfTheConfigAreNotRead) {
  checkpoint.config["num_hidden_layers"] = 1;
  checkpoint.write(folder);
  std::size_t unused = 0;
  for (const TensorSummary& tensor : inspect_checkpoint(folder).tensors) {
    EXPECT_EQ(tensor.used, !tensor.name.starts_with("bert.encoder.layer.1.")) << tensor.name;
    unused += tensor.used ? 0 : 1;
  }
  EXPECT_EQ(unused, 16U);
}

TEST_F(FaultyCheckpoint, ConfigThatIsNoJson) {
  checkpoint.write(folder);
  write_file(folder / "config.json", "");
  refused(ErrorKind::invalid_data, "config.json", "byte ", "not valid JSON");
  write_file(folder / "config.json", "{\"model_type\": \"bert\", }");
  refused(ErrorKind::invalid_data, "config.json", "byte 24", "not valid JSON", "download");
  write_file(folder / "config.json", "[1]");
  refused(ErrorKind::invalid_data, "config.json", "", "not a JSON object");
  write_file(folder / "config.json", R"({"model_type": "bert", "model_type": "bert"})");
  refused(ErrorKind::invalid_data, "config.json", "key model_type", "twice");
  write_file(folder / "config.json", std::string(200'000, '[') + std::string(200'000, ']'));
  refused(ErrorKind::invalid_data, "config.json", "byte 256", "nests deeper");
}

TEST_F(FaultyCheckpoint, ConfigOfTooManyKeysOrBytes) {
  checkpoint.write(folder);
  std::string keys = "{";
  for (int i = 0; i < 500'000; ++i) keys += "\"" + std::to_string(i) + "\":0,";
  write_file(folder / "config.json", keys + "\"x\":0}");
  refused(ErrorKind::invalid_data, "config.json", "byte 5388", "more than 1000000 values and names");
  fs::resize_file(folder / "config.json", (64U << 20) + 1);
  refused(ErrorKind::invalid_data, "config.json", "", "is larger than 67108864 bytes");
}

/// More than 16,000 keys in one object were refused, because each was compared with all before it.
TEST_F(FaultyCheckpoint, ConfigOfManyKeysKeepsThemInTheirOrder) {
  std::string keys = "{";
  for (int i = 0; i < 200'000; ++i) keys += "\"k" + std::to_string(i) + "\":[" + std::to_string(i) + "],";
  checkpoint.write(folder);
  write_file(folder / "config.json", keys + "\"x\":0}");
  const JsonFile config = JsonFile::read(folder / "config.json");
  ASSERT_EQ(config.object().size(), 200'001U);
  int next = 0;
  for (const auto& [key, value] : config.object().items()) {
    if (key == "x") continue;
    ASSERT_EQ(key, "k" + std::to_string(next));
    ASSERT_EQ(value.front(), next++);
  }
  EXPECT_EQ(next, 200'000);
  write_file(folder / "config.json", keys + "\"k77\":0}");
  refused(ErrorKind::invalid_data, "config.json", "key k77", "twice");
}

/// Those of special_tokens_map.json are taken over into tokenizer_config.json.
TEST_F(FaultyCheckpoint, MembersOfASecondFileReplaceOrFollowThoseOfTheFirst) {
  checkpoint.write(folder);
  write_file(folder / "a.json", R"({"x": 1, "y": [2], "z": 3})");
  write_file(folder / "b.json", R"({"new": {"a": 1}, "y": "b", "other": 0})");
  JsonFile file = JsonFile::read(folder / "a.json");
  file.update(JsonFile::read(folder / "b.json"));
  EXPECT_EQ(file.object().dump(), R"({"x":1,"y":"b","z":3,"new":{"a":1},"other":0})");
}

/// 600 KB of these took 35 seconds: twice as many, four times as long.
TEST_F(FaultyCheckpoint, ConfigOfManyObjectsInOneArrayIsReadInLinearTime) {
  std::string objects = "{\"x\": [{}";
  for (int i = 0; i < 400'000; ++i) objects += ",{}";
  checkpoint.write(folder);
  write_file(folder / "config.json", objects + "]}");
  const std::clock_t started = std::clock();
  EXPECT_EQ(JsonFile::read(folder / "config.json").object()["x"].size(), 400'001U);
  EXPECT_LT(std::clock() - started, 10 * CLOCKS_PER_SEC);  // usually a fraction of a second
}

/// `cp` over a checkpoint that is being loaded cuts its file first.
TEST_F(FaultyCheckpoint, WeightsThatAreCutAfterOpening) {
  checkpoint.write(folder);
  const auto file = SafetensorsFile::open(folder / "model.safetensors");
  const SafetensorsEntry& last = file.entries().back();
  fs::resize_file(folder / "model.safetensors", 100);
  expect_error(ErrorKind::invalid_data, "model.safetensors, tensor " + last.name, [&] { file.view(last); });
}

/// A sparse file may state a tensor of any size.
TEST_F(FaultyCheckpoint, LargeTensorsAreReadOnlyIfTheyHaveTheShape) {
  fs::create_directories(folder);
  for (const char* type : {"F32", "F64"}) {
    const std::uint64_t bytes = std::uint64_t{1} << 30, element = std::string(type) == "F64" ? 8 : 4;
    const json entry = {{"dtype", type}, {"shape", {bytes / element}}, {"data_offsets", {0, bytes}}};
    const std::string header = with_header(json{{"x", entry}}.dump());
    write_file(folder / "model.safetensors", header);
    fs::resize_file(folder / "model.safetensors", header.size() + bytes);
    const Cost cost = cost_of([&] {
      const auto file = SafetensorsFile::open(folder / "model.safetensors");
      expect_error(ErrorKind::invalid_data, "tensor x: has the shape [", [&] { TensorReader(file).vector("x", 4); });
    });
    EXPECT_LT(cost.bytes, std::size_t{100} << 20);
  }
}

/// A tree takes up to thirty times the bytes of its text.
TEST_F(FaultyCheckpoint, SettingsOfManyValues) {
  checkpoint.write(folder);
  for (const std::string value : {"[],", "{},", "0,", "\"\",", "{\"a\":0},"}) {
    SCOPED_TRACE(value);
    for (const char* name : {"config.json", "tokenizer_config.json"}) {
      std::string text = "{\"a\":[";
      while (text.size() + value.size() + 3 < (std::size_t{64} << 20)) text += value;
      write_file(folder / name, text + "0]}");
      expect_affordable([&] {
        expect_error(ErrorKind::invalid_data, {std::string(name) + ", byte ", "more than 1000000 values"},
                     [&] { JsonFile::read(folder / name); });
      });
      text.resize(6 + 1'000'000 / 4 * value.size());
      write_file(folder / name, text + "0]}");
      expect_affordable([&] { JsonFile::read(folder / name); });
    }
  }
}

TEST_F(FaultyCheckpoint, UnknownModelTypeAndArchitecture) {
  key_refused(ErrorKind::unsupported, "model_type", "gpt2", "unknown model type gpt2");
  key_refused(ErrorKind::invalid_data, "model_type", 5, "not a string");
  key_refused(ErrorKind::invalid_data, "model_type", nullptr, "missing");
  key_refused(ErrorKind::unsupported, "architectures", json::array({"BertForMaskedLM"}), "BertForMaskedLM");
  key_refused(ErrorKind::invalid_data, "architectures", json::array(), "not name an architecture");
  key_refused(ErrorKind::invalid_data, "architectures", json::array({1}), "not a name");
}

TEST_F(FaultyCheckpoint, WhatIsNotComputedIsRefused) {
  key_refused(ErrorKind::unsupported, "hidden_act", "laplace", "laplace");
  key_refused(ErrorKind::unsupported, "position_embedding_type", "relative_key", "relative_key");
  key_refused(ErrorKind::unsupported, "is_decoder", true, "decoders");
  key_refused(ErrorKind::unsupported, "num_labels", 0, "0 labels");
  key_refused(ErrorKind::unsupported, "id2label", json::object(), "0 labels");
  key_refused(ErrorKind::unsupported, "quantization_config", json{{"bits", 4}}, "not supported");
}

TEST_F(FaultyCheckpoint, AttentionKeysThatAreNotUnderstood) {
  for (const char* key : {"attention_window", "doc_cls_atention", "global_attention", "query_doc_attn", "sparse_block",
                          "rope_theta", "sentence_cls_attention", "token_type_embeddings"}) {
    key_refused(ErrorKind::unsupported, key, true, "unknown attention key");
  }
  key_refused(ErrorKind::invalid_data, "doc_cls_attention", 1, "not true or false");
  key_refused(ErrorKind::invalid_data, "doc_cls_attention", "true", "not true or false");
  key_refused(ErrorKind::invalid_data, "attention_window_size", -1, "whole number");
  key_refused(ErrorKind::invalid_data, "attention_window_size", 4.5, "whole number");
  key_refused(ErrorKind::invalid_data, "attention_window_size", "4", "whole number");
  key_refused(ErrorKind::invalid_data, "token_type_embedding", "no", "not true or false");
}

TEST_F(FaultyCheckpoint, SizesThatCannotBe) {
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                          "max_position_embeddings"}) {
    key_refused(ErrorKind::invalid_data, key, nullptr, "missing");
    key_refused(ErrorKind::invalid_data, key, 0, "whole number");
    key_refused(ErrorKind::invalid_data, key, -8, "whole number");
    key_refused(ErrorKind::invalid_data, key, 1e300, "whole number");
    key_refused(ErrorKind::invalid_data, key, 18446744073709551615ULL, "whole number");
    key_refused(ErrorKind::invalid_data, key, "8", "whole number");
  }
  key_refused(ErrorKind::invalid_data, "num_attention_heads", 3, "not a multiple of 3 heads");
  key_refused(ErrorKind::invalid_data, "layer_norm_eps", 0, "positive");
  key_refused(ErrorKind::invalid_data, "layer_norm_eps", "tiny", "not a number");
  key_refused(ErrorKind::invalid_data, "type_vocab_size", 1, "token type 1");
}

TEST_F(FaultyCheckpoint, VocabularyOfTheWrongSize) {
  TinyCheckpoint changed = checkpoint;
  changed.vocabulary.pop_back();
  changed.write(folder);
  EXPECT_EQ(inspect_checkpoint(folder).vocabulary, 56);  // a table may have more rows
  changed = checkpoint;
  changed.vocabulary.emplace_back("more");
  changed.write(folder);
  refused(ErrorKind::invalid_data, "vocab.txt", "", "58 entries, but config.json's vocab_size is 57", "same model");
  write_file(folder / "vocab.txt", "");
  refused(ErrorKind::invalid_data, "vocab.txt", "", "no entry [CLS]");
}

TEST_F(FaultyCheckpoint, VocabularyThatIsNone) {
  TinyCheckpoint changed = checkpoint;
  changed.vocabulary[20] = "\xFFz";
  changed.write(folder);
  refused(ErrorKind::invalid_data, "vocab.txt", "line 21", "not valid UTF-8", "download");
  for (const std::size_t special : {1, 2, 3}) {
    changed = checkpoint;
    changed.vocabulary[special] = "other";
    changed.write(folder);
    refused(ErrorKind::invalid_data, "vocab.txt", "", "no entry " + checkpoint.vocabulary[special]);
  }
}

TEST_F(FaultyCheckpoint, TokenizerSettings) {
  for (const char* key : {"do_lower_case", "strip_accents", "tokenize_chinese_chars"}) {
    TinyCheckpoint changed = checkpoint;
    changed.tokenizer_config[key] = false;
    changed.write(folder);
    const std::string cased = std::string(key) == "do_lower_case" ? "cased" : "lower-cased";
    EXPECT_EQ(inspect_checkpoint(folder).tokenizer, "WordPiece, 57 entries, " + cased + " (vocab.txt)");
    changed.tokenizer_config[key] = "no";
    changed.write(folder);
    refused(ErrorKind::invalid_data, "tokenizer_config.json", std::string("key ") + key, "not true or false");
  }
  TinyCheckpoint changed = checkpoint;
  changed.tokenizer_config["do_basic_tokenize"] = false;
  changed.write(folder);
  refused(ErrorKind::unsupported, "tokenizer_config.json", "key do_basic_tokenize", "punctuation", "checkpoint");
  checkpoint.tokenizer_config["model_max_length"] = 3;
  checkpoint.write(folder);
  refused(ErrorKind::invalid_data, "", "", "3 positions", "model_max_length");
  write_file(folder / "tokenizer_config.json", "{");
  refused(ErrorKind::invalid_data, "tokenizer_config.json", "byte 2", "not valid JSON");
}

TEST_F(FaultyCheckpoint, TokenizerJson) {
  checkpoint.tokenizer_config["tokenizer_class"] = "PreTrainedTokenizerFast";  // which reads the file as it is
  json tokenizer = {{"normalizer",
                     {{"type", "BertNormalizer"},
                      {"clean_text", true},
                      {"handle_chinese_chars", true},
                      {"strip_accents", nullptr},
                      {"lowercase", true}}},
                    {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                    {"model",
                     {{"type", "WordPiece"},
                      {"unk_token", "[UNK]"},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100},
                      {"vocab", json::object()}}},
                    {"post_processor", {{"type", "BertProcessing"}, {"cls", {"[CLS]", 2}}, {"sep", {"[SEP]", 3}}}}};
  for (std::size_t i = 0; i < checkpoint.vocabulary.size(); ++i)
    tokenizer["model"]["vocab"][checkpoint.vocabulary[i]] = i;
  const auto write = [&](const std::function<void(json&)>& change) {
    json changed = tokenizer;
    change(changed);
    checkpoint.write(folder);
    fs::remove(folder / "vocab.txt");
    write_file(folder / "tokenizer.json", changed.dump());
  };
  const auto refused_with = [&](const std::function<void(json&)>& change, ErrorKind kind, const std::string& key,
                                const std::string& problem) {
    write(change);
    refused(kind, "tokenizer.json", key, problem);
  };
  refused_with([](json& j) { j["model"]["type"] = "WordLevel"; }, ErrorKind::unsupported, "model.type", "WordLevel");
  refused_with([](json& j) { j["model"]["vocab"]["a"] = -1; }, ErrorKind::invalid_data, "model.vocab", "-1");
  refused_with([](json& j) { j["model"]["vocab"]["a"] = 6; }, ErrorKind::invalid_data, "model.vocab", "twice");
  refused_with([](json& j) { j["model"]["vocab"]["a"] = 1ULL << 40; }, ErrorKind::invalid_data, "model.vocab",
               "invalid id");
  refused_with([](json& j) { j["model"]["vocab"]["a"] = 900; }, ErrorKind::invalid_data, "",
               "901 entries, but config.json's vocab_size is 57");
  refused_with([](json& j) { j["model"]["vocab"].erase("[UNK]"); }, ErrorKind::invalid_data, "", "no entry [UNK]");
  refused_with([](json& j) { j.erase("post_processor"); }, ErrorKind::unsupported, "key post_processor",
               "no special tokens");
  refused_with([](json& j) { j.erase("model"); }, ErrorKind::invalid_data, "key model", "missing");
  write([](json&) {});
  EXPECT_EQ(inspect_checkpoint(folder).tokenizer, "WordPiece, 57 entries, lower-cased (tokenizer.json)");
  write([](json& j) { j["model"]["max_input_chars_per_word"] = 50; });
  EXPECT_EQ(inspect_checkpoint(folder).tokenizer, "WordPiece, 57 entries (tokenizer.json)");
  // A cross-encoder's input begins with [CLS].
  write([](json& j) {
    j["post_processor"] = {{"type", "TemplateProcessing"},
                           {"pair",
                            {{{"Sequence", {{"id", "A"}}}},
                             {{"SpecialToken", {{"id", "[SEP]"}}}},
                             {{"Sequence", {{"id", "B"}}}},
                             {{"SpecialToken", {{"id", "[SEP]"}}}}}},
                           {"special_tokens", {{"[SEP]", {{"ids", {3}}}}}}};
  });
  refused(ErrorKind::unsupported, "", "", "template for a pair");
}

/// The superuser may read everything: acts as nobody for a while.
class Unprivileged {
 public:
  Unprivileged() : acts_(::geteuid() == 0 && ::seteuid(65534) == 0) {}
  ~Unprivileged() {
    if (acts_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool acts_;
};

TEST_F(FaultyCheckpoint, UnreadableFileAndFolder) {
  constexpr auto everybody = fs::perms::owner_all | fs::perms::group_all | fs::perms::others_all;
  checkpoint.write(folder);
  fs::permissions(temporary.path(), everybody);
  fs::permissions(folder, everybody);
  fs::permissions(folder / "model.safetensors", fs::perms::none);
  {
    const Unprivileged nobody;
    refused(ErrorKind::io, "model.safetensors", "", "Permission denied", "permissions");
  }
  fs::permissions(temporary.path(), fs::perms::none);
  {
    const Unprivileged nobody;
    refused(ErrorKind::io, "", "", "Permission denied", "permissions");
  }
  fs::permissions(temporary.path(), everybody);
}

}  // namespace
}  // namespace relucent::testing
