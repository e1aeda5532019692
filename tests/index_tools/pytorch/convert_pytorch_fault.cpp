// Weights that PyTorch has written (goldens/pytorch), and what an attacker might make of them.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "index_tools/pytorch/convert_pytorch.h"
#include "index_tools/pytorch/pickled_tensors.h"
#include "model/formats/safetensors.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::golden_path;

std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class ConvertPytorch : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(from());
    std::ofstream(from() / "config.json") << "{}";
  }
  fs::path from() const { return folder_ / "from"; }
  fs::path to() const { return folder_ / "to"; }
  void give(const std::string& golden, const std::string& name = "pytorch_model.bin") const {
    fs::copy_file(golden_path("pytorch") / golden, from() / name);
  }
  /// A pytorch_model.bin of these bytes.
  void write(const std::string& bytes) const { std::ofstream(from() / "pytorch_model.bin", std::ios::binary) << bytes; }
  void expect_tensors() const {
    const SafetensorsFile file = SafetensorsFile::open(to() / "model.safetensors");
    EXPECT_EQ(file.entries().size(), 8U);
    const auto values = [&](const std::string& name, const std::string& type, const std::vector<std::uint64_t>& shape) {
      const SafetensorsEntry* const entry = file.find(name);
      EXPECT_TRUE(entry != nullptr && entry->type == type) << name;
      EXPECT_TRUE(std::equal(entry->shape.begin(), entry->shape.end(), shape.begin(), shape.end())) << name;
      return floating_type(entry->type) ? file.view(*entry).to_f32() : std::vector<float>();
    };
    const std::vector<float> a = values("a.weight", "F32", {3, 4}), second = values("f.second", "F32", {12});
    for (std::size_t i = 0; i < 12; ++i) {
      EXPECT_EQ(a[i], static_cast<float>(i) / 8);
      EXPECT_EQ(second[i], static_cast<float>(8 + i));
    }
    EXPECT_EQ(values("b.bias", "BF16", {2}), (std::vector<float>{1.5F, -2.0F}));
    EXPECT_EQ(values("c.half", "F16", {1, 1}), std::vector<float>{0.25F});
    EXPECT_EQ(values("e.first", "F32", {2, 4})[7], 7.0F);
    values("d.ids", "I64", {1, 3});
    values("g.scalar", "F64", {});
    EXPECT_TRUE(values("h.empty", "F32", {0, 4}).empty());
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(ConvertPytorch, WritesTheSameTensors) {
  give("whole.bin");
  EXPECT_TRUE(has_pytorch_weights(from()));
  convert_pytorch(from(), to());
  expect_tensors();
  EXPECT_EQ(contents(to() / "config.json"), "{}");
  EXPECT_FALSE(fs::exists(to() / "pytorch_model.bin"));
  EXPECT_FALSE(has_pytorch_weights(to()));
  expect_error(ErrorKind::usage, {"exists"}, [&] { convert_pytorch(from(), to()); });
}

TEST_F(ConvertPytorch, JoinsSeveralFiles) {
  for (const char* name :
       {"pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin", "pytorch_model.bin.index.json"}) {
    give(name, name);
  }
  convert_pytorch(from(), to());
  expect_tensors();
  fs::remove(from() / "pytorch_model-00002-of-00002.bin");
  fs::remove_all(to());
  expect_error(ErrorKind::io, {"00002-of-00002", "no such file"}, [&] { convert_pytorch(from(), to()); });
  for (const char* file : {"../x", "/etc/passwd", "..", ""}) {
    std::ofstream(from() / "pytorch_model.bin.index.json") << R"({"weight_map": {"a": ")" << file << "\"}}";
    expect_error(ErrorKind::invalid_data, {"weight_map"}, [&] { convert_pytorch(from(), to()); });
  }
  EXPECT_FALSE(fs::exists(to()));
}

TEST_F(ConvertPytorch, RefusesByNameWhatIsNoDictionaryOfTensors) {
  const auto refused = [&](const std::string& golden, const std::vector<std::string>& parts) {
    SCOPED_TRACE(golden);
    fs::remove(from() / "pytorch_model.bin");
    give(golden);
    expect_error(ErrorKind::unsupported, parts, [&] { convert_pytorch(from(), to()); });
    EXPECT_FALSE(fs::exists(to()));
  };
  refused("calls.bin", {"data.pkl, byte", "names posix system"});
  refused("nested.bin", {"entry state_dict that is not a tensor"});
  refused("transposed.bin", {"not stored row by row"});
  refused("old.bin", {"not a zip archive", "1.6"});
}

TEST_F(ConvertPytorch, DamagedFilesAreErrors) {
  const std::string whole = contents(golden_path("pytorch") / "whole.bin");
  std::mt19937 random(7);
  std::size_t refused = 0;
  for (std::size_t round = 0; round < 400; ++round) {
    std::string bytes = whole;
    if (round % 4 == 0) bytes.resize(random() % whole.size());
    for (std::size_t i = 0; i < 1 + round % 3 && !bytes.empty(); ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    write(bytes);
    fs::remove_all(to());
    try {
      convert_pytorch(from(), to());
    } catch (const Error&) {
      ++refused;
      EXPECT_FALSE(fs::exists(to()));
    }
  }
  EXPECT_GT(refused, 100U);  // others changed numbers, or what zip does not need
}

std::vector<PickledTensor> read(const std::string& pickle) { return read_pickled_tensors(pickle, "x"); }

TEST(PickledTensors, OperationsAreFewAndBounded) {
  using namespace std::string_literals;
  const std::string start = "\x80\x02"s;
  const auto unsupported = [&](const std::string& pickle, const std::vector<std::string>& parts) {
    expect_error(ErrorKind::unsupported, parts, [&] { read(start + pickle); });
  };
  const auto invalid = [&](const std::string& pickle, const std::vector<std::string>& parts) {
    expect_error(ErrorKind::invalid_data, parts, [&] { read(start + pickle); });
  };
  expect_error(ErrorKind::unsupported, {"protocol 4"}, [&] { read("\x80\x04}."); });
  unsupported("cbuiltins\neval\n.", {"names builtins eval", "byte 2"});
  unsupported("ctorch\nload\n.", {"names torch load"});
  unsupported("i\n.", {"operation 0x69"});   // INST
  unsupported("\x93.", {"operation 0x93"});  // STACK_GLOBAL
  unsupported("\x81.", {"operation 0x81"});  // NEWOBJ
  unsupported("].", {"operation 0x5d"});     // lists could contain themselves
  unsupported("K\x01.", {"not a dictionary"});
  unsupported("}X\x01\0\0\0aK\x01s."s, {"entry a that is not a tensor"});
  unsupported("}K\x01K\x01s.", {"keys are not texts"});
  unsupported("ccollections\nOrderedDict\n)\x85R.", {"makes an OrderedDict from something"});
  unsupported("ctorch._utils\n_rebuild_tensor_v2\n)R.", {"makes a tensor from something else"});
  unsupported(")" + std::string(100, '\x85') + ".", {"tuples in each other"});
  invalid("}.", {"has no tensors"});
  invalid("", {"ends in the middle"});
  invalid("X\xff\xff\xff\x7f", {"ends in the middle"});
  invalid("s.", {"takes a value that is not there"});
  invalid("K\x01u.", {"takes values that are not there"});
  invalid("h\x05.", {"has not remembered"});
  invalid(std::string(5 << 20, 'N'), {"too many values"});
  // A tensor beyond its storage of 3 numbers.
  const auto tensor = [&](const std::string& first, const std::string& shape, const std::string& strides) {
    return "}X\x01\0\0\0actorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"s +
           "0X\x03\0\0\0cpuK\x03tQ"s + first + shape + strides +
           "\x89"
           "ccollections\nOrderedDict\n)RtRs.";
  };
  EXPECT_EQ(read(start + tensor("K\x01"s, "K\x02\x85", "K\x01\x85")).at(0).first, 1U);
  invalid(tensor("K\x02"s, "K\x02\x85", "K\x01\x85"), {"2 numbers from number 2 on of 3"});
  invalid(tensor("K\0"s, "J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", "J\xff\xff\xff\x7fK\x01\x86"), {"impossibly large"});
  invalid(tensor("K\0"s, "J\xff\xff\xff\xff\x85", "K\x01\x85"), {"impossible size"});
  unsupported(tensor("K\0"s, "K\x02\x85", "K\x02\x85"), {"row by row"});
}

}  // namespace
}  // namespace relucent::index_tools
