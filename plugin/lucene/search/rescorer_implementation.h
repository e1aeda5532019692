#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "plugin/lucene/log.h"
#include "plugin/lucene/search/second_stage.h"
#include "relucent/rescorer.h"

namespace relucent {

struct Rescorer::Implementation {
  Config config;
  std::vector<RescoringStage> stages;
  Log log;
  mutable LoggedOnce logged_once = {};
  mutable OpenedInputs opened = {};

  SecondStage stage() const { return {config, stages, log, logged_once, opened}; }
};

}  // namespace relucent
