// Files of experiments in TOML.
#include "index_tools/experiments/experiment_file.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/toml_mutator.h"

RELUCENT_FUZZ_TOML
RELUCENT_FUZZ_TARGET(experiment) {
  answer_or_error([&] { index_tools::parse_experiment(input, "experiment.toml", scratch(), scratch()); });
}
