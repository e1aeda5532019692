// config.json: every family's reader.
#include "model/families/family.h"
#include "tests/fuzz/scratch_file.h"

RELUCENT_FUZZ_TARGET(config_json) {
  const auto path = scratch_file("config.json", input);
  answer_or_error([&] {
    const JsonFile config = JsonFile::read(path);
    find_family(config).read_configuration(config);
  });
}
