#include "model/checkpoint/weight_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/file/folder_entries.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

/// What can be done about weights in another format.
enum class Remedy { pytorch, tensorflow, flax, rename, none };

struct Format {
  std::string_view ending, name;
  Remedy remedy;
};
constexpr std::array<Format, 10> kFormats{
    {{".bin", "PyTorch's", Remedy::pytorch},
     {".pt", "PyTorch's", Remedy::pytorch},
     {".pth", "PyTorch's", Remedy::pytorch},
     {".ckpt", "a training framework's", Remedy::none},
     {".h5", "TensorFlow's", Remedy::tensorflow},
     {".msgpack", "Flax's", Remedy::flax},
     {".onnx", "ONNX's", Remedy::none},
     {".ot", "rust-bert's", Remedy::none},
     {".gguf", "llama.cpp's", Remedy::none},
     {".safetensors", "safetensors, but not that of a whole model", Remedy::rename}}};

const Format* format_of(const fs::path& path) {
  const std::string ending = path.extension().string();
  const auto found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& format) { return format.ending == ending; });
  return found == kFormats.end() ? nullptr : &*found;
}

/// As one word of a shell's command.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += "'\\'";
    result += c;
  }
  return result + "'";
}

std::string remedy_for(const Format& format, const fs::path& folder, std::string_view model_type) {
  if (format.remedy == Remedy::rename) {
    return "call it model.safetensors if it is the whole model; an adapter must be merged into its model first";
  }
  if (format.remedy == Remedy::none) {
    return "download model.safetensors of this model, or save the model from PyTorch with save_pretrained()";
  }
  const char* const loading = format.remedy == Remedy::tensorflow ? ", from_tf=True"
                              : format.remedy == Remedy::flax     ? ", from_flax=True"
                                                                  : "";
  return fmt::format(
      "run{}: python3 -c \"import sys; from transformers import AutoModelFor{} as M; "
      "M.from_pretrained(sys.argv[1]{}).save_pretrained(sys.argv[1], safe_serialization=True)\" {}",
      *loading != '\0' ? ", with transformers before version 5" : "",
      model_type == "t5" ? "Seq2SeqLM" : "SequenceClassification", loading, quoted(folder.string()));
}

/// What training leaves next to the weights has the same endings.
bool is_of_training(const std::string& name) {
  constexpr std::array<std::string_view, 5> beginnings{"training_args", "optimizer", "scheduler", "rng_state",
                                                       "scaler"};
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto each) { return name.starts_with(each); });
}

/// The first weights in another format, in the order of kFormats and of names; empty if there are none.
fs::path other_weights(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const FolderEntry& entry : entries_of(folder)) {
    if (format_of(entry.name) != nullptr && !is_of_training(entry.name)) found.push_back(folder / entry.name);
  }
  const auto first = std::min_element(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(format_of(a), a) < std::pair(format_of(b), b);
  });
  return first == found.end() ? fs::path() : *first;
}

}  // namespace

bool is_weight_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return format_of(path) != nullptr || (name.ends_with(".index.json") && format_of(path.stem().stem()) != nullptr);
}

SafetensorsFile open_weights(const fs::path& folder, std::string_view model_type) {
  const fs::path whole = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (fs::exists(whole)) return SafetensorsFile::open(whole);
  if (fs::exists(index)) return SafetensorsFile::open_index(index);
  const fs::path other = other_weights(folder);
  if (other.empty()) return SafetensorsFile::open(whole);  // which reports that it is missing
  const Format& format = *format_of(other);
  const bool convertible =
      other.filename() == "pytorch_model.bin" || fs::exists(folder / "pytorch_model.bin.index.json");
  throw Error(ErrorKind::unsupported, other.string(),
              fmt::format("the weights' format is {}, which is not supported", format.name),
              convertible ? fmt::format("run: relucent model convert {} NEW_DIR", quoted(folder.string()))
                          : remedy_for(format, folder, model_type));
}

}  // namespace relucent
