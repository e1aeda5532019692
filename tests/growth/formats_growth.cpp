// Files that describe: profiles, experiments, checkpoints' JSON, safetensors, PyTorch's pickles.
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "index_tools/experiments/experiment_file.h"
#include "index_tools/pytorch/convert_pytorch.h"
#include "index_tools/pytorch/pickled_tensors.h"
#include "model/formats/json_file.h"
#include "model/formats/safetensors.h"
#include "model/formats/safetensors_header.h"
#include "model/formats/safetensors_index.h"
#include "relucent/config.h"
#include "relucent/model/checkpoint.h"
#include "tests/growth/growth.h"
#include "tests/growth/scratch.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

std::function<Work(std::size_t)> profile(std::string (*make)(std::size_t)) {
  return [make](std::size_t size) { return [text = make(size)] { parse_config(text, "p.toml"); }; };
}

std::function<Work(std::size_t)> experiment(std::string (*make)(std::size_t)) {
  return
      [make](std::size_t size) { return [text = make(size)] { index_tools::parse_experiment(text, "e.toml", "."); }; };
}

std::function<Work(std::size_t)> config_json(std::string (*make)(std::size_t)) {
  return [make](std::size_t size) { return on_file(make(size), [](const auto& path) { JsonFile::read(path); }); };
}

std::string stages(std::size_t size) {
  return "[rescorer]\nmodel = \"m\"\n" + numbered_texts(size, [size](const std::string& i) {
           return "[[rescorer.stages]]\nmodel = \"m" + i + "\"\nwindow = " + std::to_string(size * 2 - std::stoul(i)) +
                  "\n";
         });
}

std::string experiment_rows(std::size_t size) {
  return "title = \"t\"\nmeasures = [\"nDCG@10\"]\n[[tasks]]\nname = \"a\"\ncandidates = \"c\"\nqrels = \"q\"\n" +
         numbered_texts(
             size, [](const std::string& i) { return "[[rows]]\nname = \"r" + i + "\"\nkind = \"first stage\"\n"; });
}

std::string tensors(std::size_t size) {
  return "{" +
         numbered_texts(size,
                        [](const std::string& i) {
                          const std::string end = std::to_string(8 * (std::stoul(i) + 1));
                          return (i == "0" ? "\"" : ",\"") + ("layer." + i) +
                                 R"(": {"dtype": "F32", "shape": [2], "data_offsets": [)" +
                                 std::to_string(8 * std::stoul(i)) + "," + end + "]}";
                        }) +
         "}";
}

std::string safetensors(std::size_t size) {
  std::string header = tensors(size), length(8, '\0');
  const std::uint64_t bytes = header.size();
  std::memcpy(length.data(), &bytes, sizeof bytes);
  return length + header + std::string(8 * size, '\0');
}

/// A dictionary of empty dictionaries, or of one key again and again, as protocol 2 pickles them.
std::string pickle(std::size_t size, const std::string& item) {
  return std::string("\x80\x02}(") + repeated(size, item) + "u.";
}

}  // namespace

std::vector<Case> formats_cases() {
  using index_tools::read_pickled_tensors;
  std::vector<Case> cases = {
      {"profile_comments", 2000, profile([](std::size_t n) { return repeated(n, "# comment\n"); })},
      {"profile_long_string", 20000,
       profile([](std::size_t n) { return "[index]\npath = \"" + repeated(n, "\\u00e4") + "\"\n"; })},
      {"profile_fields", 500, profile([](std::size_t n) {
         return "[index]\nkeyword_fields = [" +
                numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"f" : ",\"f") + i + "\""; }) + "]\n";
       }),
       16},
      {"profile_stages", 250, profile(stages), 1000, true},
      {"profile_unknown_keys", 500, profile([](std::size_t n) {
         return "[index]\n" + numbered_texts(n, [](const std::string& i) { return "k" + i + " = 1\n"; });
       }),
       1000, true},
      {"profile_unknown_sections", 500, profile([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) { return "[k" + i + "]\na = 1\n"; });
       }),
       1000, true},
      {"profile_dotted_keys", 500, profile([](std::size_t n) {
         return numbered_texts(n, [](const std::string& i) { return "a.b.c" + i + ".d = 1\n"; });
       }),
       1000, true},
      {"profile_one_array", 2000, profile([](std::size_t n) { return "[index]\nx = [" + repeated(n, "[1],") + "]\n"; }),
       1000, true},
      {"profile_inline_table", 500, profile([](std::size_t n) {
         return "[index]\nx = {" +
                numbered_texts(n, [](const std::string& i) { return (i == "0" ? "k" : ",k") + i + "=1"; }) + "}\n";
       }),
       1000, true},
      {"profile_not_utf8", 10000, profile([](std::size_t n) { return "# " + std::string(n, '\xff'); }), 1000, true},
      {"experiment_rows", 200, experiment(experiment_rows), 2},  // it may have 2,000

      {"config_json_keys", 500, config_json([](std::size_t n) {
         return "{" + numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"k" : ",\"k") + i + "\":1"; }) +
                "}";
       })},
      {"config_json_labels", 500, config_json([](std::size_t n) {
         return R"({"id2label": {)" +
                numbered_texts(n, [](const std::string& i) { return (i == "0" ? "\"" : ",\"") + i + "\":\"a\""; }) +
                "}}";
       })},
      {"config_json_objects", 2000,
       config_json([](std::size_t n) { return "{\"a\": [" + repeated(n, "{\"a\":{\"b\":1}},") + "1]}"; }), 60},
      {"config_json_repeated_key", 2000,
       config_json([](std::size_t n) { return "{" + repeated(n, "\"a\":1,") + "\"b\":1}"; }), 1000, true},
      {"config_json_long_key", 20000, config_json([](std::size_t n) { return "{\"" + std::string(n, 'k') + "\":1}"; })},
      {"config_json_escapes", 10000,
       config_json([](std::size_t n) { return "{\"a\":\"" + repeated(n, "\\u00e4") + "\"}"; })},
      {"safetensors_header", 300,
       [](std::size_t n) { return [text = tensors(n)] { parse_safetensors_header(text, "m.safetensors"); }; }},
      {"safetensors_file", 300,
       [](std::size_t n) { return on_file(safetensors(n), [](const auto& path) { SafetensorsFile::open(path); }); }},
      {"safetensors_metadata", 500,
       [](std::size_t n) {
         return [text = R"({"__metadata__": {)" +
                        numbered_texts(
                            n, [](const std::string& i) { return (i == "0" ? "\"" : ",\"") + i + "\":\"v\""; }) +
                        "}}"] { parse_safetensors_header(text, "m.safetensors"); };
       }},
      {"safetensors_shapes", 1000,
       [](std::size_t n) {
         return [text = R"({"a": {"dtype": "F32", "shape": [)" + repeated(n, "1,") +
                        R"(1], "data_offsets": [0, 4]}})"] { parse_safetensors_header(text, "m.safetensors"); };
       },
       1000, true},
      {"safetensors_index", 400,
       [](std::size_t n) {
         return on_file(R"({"weight_map": {)" +
                            numbered_texts(n,
                                           [](const std::string& i) {
                                             return (i == "0" ? "\"t" : ",\"t") + i + "\":\"x" + i.back() +
                                                    ".safetensors\"";
                                           }) +
                            "}}",
                        [](const auto& path) { read_safetensors_index(path); });
       },
       1000, true},
      {"checkpoint_unknown_tensors", 300,
       [](std::size_t n) {
         auto folder = std::make_shared<TemporaryFolder>();
         TinyCheckpoint checkpoint;
         for (std::size_t i = 0; i < n; ++i) {
           checkpoint.tensors["bert.other." + std::to_string(i)] = {"F32", {1}, std::string(4, '\0')};
         }
         checkpoint.write(folder->path());
         return [folder] { check_checkpoint(folder->path(), {.device = Device::ref(), .instruction_set = {}}); };
       }},
      {"checkpoint_layers_missing", 100,
       [](std::size_t n) {
         auto folder = std::make_shared<TemporaryFolder>();
         TinyCheckpoint checkpoint;
         checkpoint.config["num_hidden_layers"] = n;
         checkpoint.write(folder->path());
         return [folder] { check_checkpoint(folder->path(), {.device = Device::ref(), .instruction_set = {}}); };
       },
       4},
      {"pickle_repeated_key", 2000,
       [](std::size_t n) {
         return [text = pickle(n, std::string("X\x01\x00\x00\x00", 5) + "a}")] { read_pickled_tensors(text, "x"); };
       },
       1000, true},
      {"pickle_tuples", 2000,
       [](std::size_t n) {
         return [text = "\x80\x02" + repeated(n, "K\x01") + repeated(n, "\x85") + "."] {
           read_pickled_tensors(text, "x");
         };
       },
       1000, true},
      {"pickle_nested_tuples", 2000,
       [](std::size_t n) {
         return [text = "\x80\x02)" +
                        repeated(n,
                                 "q\x01"
                                 "\x85") +
                        "."] { read_pickled_tensors(text, "x"); };
       },
       1000, true},
      {"pickle_marks", 2000,
       [](std::size_t n) {
         return [text = "\x80\x02" + repeated(n, "(") + repeated(n, "t") + "."] { read_pickled_tensors(text, "x"); };
       },
       1000, true},
      {"pickle_memo", 1000,
       [](std::size_t n) {
         // Each doubles the one before by reference.
         return [text = "\x80\x02)q" + std::string(1, '\0') + repeated(n, std::string("h\0h\0\x86q\0", 7)) + "."] {
           read_pickled_tensors(text, "x");
         };
       },
       1000, true},
  };
  return cases;
}

}  // namespace relucent::testing
