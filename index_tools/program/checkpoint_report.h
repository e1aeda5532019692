#pragma once

#include <nlohmann/json.hpp>

#include "relucent/model/checkpoint.h"

// What `model info` and `model check` say of a checkpoint, as JSON and as text on standard output.

namespace relucent::program {

nlohmann::ordered_json report_json(const CheckpointInfo& info);
nlohmann::ordered_json report_json(const CheckpointCheck& check);

/// `tensors`: with a line for each tensor.
void print_report(const CheckpointInfo& info, bool tensors);
/// Problems go to standard error.
void print_report(const CheckpointCheck& check);

}  // namespace relucent::program
