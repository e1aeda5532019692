// Profiles in TOML, as text and as a file. A profile that is read is written and read again.
#include "relucent/config.h"
#include "tests/fuzz/scratch_file.h"

RELUCENT_FUZZ_TARGET(profile) {
  const auto file = scratch_file("profile.toml", input);
  answer_or_error([&] { load_config(file); });
  answer_or_error([&] {
    const Config config = parse_config(input, "profile.toml");
    check_config(config);
    const std::string written = to_toml(config);
    try {
      if (to_toml(parse_config(written, "written.toml")) != written)
        report("a profile that changes when it is written");
    } catch (const Error& error) {
      report(std::string("a written profile that cannot be read: ") + error.what());
    }
  });
}
