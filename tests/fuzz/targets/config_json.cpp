// config.json: every family's reader, also with each attention pattern that a user may choose, and what it then takes
// of a file of weights, in which everything is missing. After the first NUL byte of an input stands the file with the
// settings of late interaction, which is next to config.json.
#include "model/families/family.h"
#include "model/families/pattern.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/text_input.h"

namespace relucent::fuzz {
namespace {

SafetensorsFile file_without_tensors() {
  return SafetensorsFile::open(scratch_file("model.safetensors", {"\2\0\0\0\0\0\0\0{}", 10}));
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_JSON
RELUCENT_FUZZ_TARGET(config_json) {
  static const SafetensorsFile none = file_without_tensors();
  const auto [text, settings] = at_first_nul(input);
  const auto path = scratch_file("config.json", text);
  for (const char* name : {"artifact.metadata", "config_sentence_transformers.json", "modules.json"}) {
    optional_scratch_file(name, settings);
  }
  answer_or_error([&] {
    const JsonFile config = JsonFile::read(path);
    const Family& family = find_family(config);
    FamilyConfiguration configuration = family.read_configuration(config);
    FaultList faults(FaultList::Mode::keep_all);
    TensorReader reader(none, &faults);
    const std::vector<std::int32_t> outputs(configuration.input.outputs.size());
    answer_or_error([&] { family.read_weights(reader, configuration, outputs); });
    set_window(configuration.description, {View::Kind::window, 2});
    for (const auto pattern : {PatternChoice::full, PatternChoice::local, PatternChoice::longformer, PatternChoice::qds,
                               PatternChoice::sparse}) {
      answer_or_error([&] { with_pattern(config, pattern, std::nullopt); });
    }
  });
}
