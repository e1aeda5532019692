// Profiles in TOML. A profile that is read is written and read again.
#include "relucent/config.h"
#include "tests/fuzz/fuzz_target.h"

RELUCENT_FUZZ_TARGET(profile) {
  answer_or_error([&] {
    const Config config = parse_config(input, "profile.toml");
    const std::string written = to_toml(config);
    try {
      if (to_toml(parse_config(written, "written.toml")) != written)
        report("a profile that changes when it is written");
    } catch (const Error& error) {
      report(std::string("a written profile that cannot be read: ") + error.what());
    }
  });
}
