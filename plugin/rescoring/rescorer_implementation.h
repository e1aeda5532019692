#pragma once

#include <memory>
#include <mutex>

#include "relucent/rescorer.h"
#include "rescoring/log.h"
#include "rescoring/second_stage.h"

namespace relucent {

struct Rescorer::Implementation {
  Config config;
  std::shared_ptr<const Scorer> scorer;
  Log log;
  std::once_flag said_that_terms_are_read = {};
  mutable std::once_flag said_that_token_ids_are_others = {};

  SecondStage stage() const { return {config, *scorer, log, said_that_token_ids_are_others}; }
};

}  // namespace relucent
