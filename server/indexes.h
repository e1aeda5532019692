#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine.h"

namespace relucent::server {

/// An index by its name in requests.
struct NamedEngine {
  std::string name;
  std::shared_ptr<Engine> engine;
};

/// Whether requests and metrics can name an index so: up to 64 letters, digits, '.', '_' and '-', not a sign first.
bool is_index_name(std::string_view name);

/// Several indexes as one engine: Engine::index() finds them by their names, and whoever names none gets the first.
/// Texts are reranked with the first one's model. refreshed() refreshes each by itself: one that cannot be reopened
/// stays as it is. `engines` is not empty.
std::shared_ptr<Engine> make_indexes(std::vector<NamedEngine> engines);

}  // namespace relucent::server
