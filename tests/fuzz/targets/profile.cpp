// Profiles in TOML, as text and as a file. A profile that is read is written and read again, also with the whole text
// as one of its values, in which every character must be escaped as needed.
#include "relucent/config.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/toml_mutator.h"

namespace relucent::fuzz {
namespace {

void write_and_read(const Config& config) {
  const std::string written = to_toml(config);
  try {
    const Config read = parse_config(written, "written.toml");
    if (to_toml(read) != written) report("a profile that changes when it is written");
    if (read.index.path != config.index.path) report("a value that changes when it is written");
  } catch (const Error& error) {
    report(std::string("a written profile that cannot be read: ") + error.what());
  }
}

}  // namespace
}  // namespace relucent::fuzz

RELUCENT_FUZZ_TOML
RELUCENT_FUZZ_TARGET(profile) {
  const auto file = scratch_file("profile.toml", input);
  answer_or_error([&] { load_config(file); });
  answer_or_error([&] {
    Config config = parse_config(input, "profile.toml");
    check_config(config);
    write_and_read(config);
    config.index.path = input;
    write_and_read(config);
  });
}
