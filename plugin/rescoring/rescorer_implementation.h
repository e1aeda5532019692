#pragma once

#include <memory>
#include <mutex>

#include "plugin/log.h"
#include "plugin/rescoring/second_stage.h"
#include "relucent/rescorer.h"

namespace relucent {

struct Rescorer::Implementation {
  Config config;
  std::shared_ptr<const Scorer> scorer;
  Log log;
  mutable Said said = {};

  SecondStage stage() const { return {config, *scorer, log, said}; }
};

}  // namespace relucent
