// What a hub has of a model, and what of it the reader of checkpoints would open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

struct HubFile {
  std::string path;
  std::uint64_t size = 0;
  bool large = false;  ///< stored apart from git
  std::string hash;    ///< hexadecimal: SHA-256 of a large file, git's SHA-1 of another one; its name in the cache
};

struct HubListing {
  std::string commit;  ///< 40 hexadecimal digits
  std::vector<HubFile> files;
};

/// Reads the answer to GET /api/models/ORG/NAME/revision/REVISION?blobs=true. Throws Error `invalid_data` naming
/// `place` for anything else.
HubListing read_listing(std::string_view json, const std::string& place);

/// The files that belong to a checkpoint: its configuration, tokenizer and weights in safetensors, and those of its
/// modules, config.json last. Throws Error naming `place`: `unsupported` if there are no such weights, `invalid_data`
/// without config.json.
std::vector<HubFile> files_of_checkpoint(const HubListing& listing, const std::string& place);

}  // namespace relucent::index_tools
