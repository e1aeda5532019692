// config.json: every family's reader, also with each attention pattern that a user may choose.
#include "model/families/family.h"
#include "model/families/pattern.h"
#include "tests/fuzz/scratch_file.h"

RELUCENT_FUZZ_TARGET(config_json) {
  const auto path = scratch_file("config.json", input);
  answer_or_error([&] {
    const JsonFile config = JsonFile::read(path);
    find_family(config).read_configuration(config);
    for (const auto pattern : {PatternChoice::full, PatternChoice::local, PatternChoice::longformer, PatternChoice::qds,
                               PatternChoice::sparse}) {
      answer_or_error([&] { with_pattern(config, pattern, std::nullopt); });
    }
  });
}
