#pragma once

#include <filesystem>
#include <memory>

#include "relucent/config.h"
#include "server/document_writer.h"

namespace relucent::program {

/// Writes the index of a server, of which it holds the lock, until it is destroyed. Throws Error: see IndexChange.
std::shared_ptr<server::DocumentWriter> open_index_writer(const std::filesystem::path& index, const Config& config);

}  // namespace relucent::program
