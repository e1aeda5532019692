// Models from a hub into Hugging Face's cache, which huggingface_hub and model_folder() read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "model/checkpoint/hub_cache.h"
#include "relucent/stop.h"

namespace relucent::index_tools {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";
  std::string token;  ///< empty: none
  bool offline = false;
  std::filesystem::path cache;
};

/// HF_ENDPOINT, HF_TOKEN or the token that `hf auth login` has stored, HF_HUB_OFFLINE, and hub_cache().
HubSettings hub_settings_from_environment();

struct FetchedModel {
  std::filesystem::path folder;
  std::string commit;
  std::size_t files = 0;
  std::uint64_t bytes = 0, fetched = 0;  ///< of all files; of those that were not in the cache
};

/// Called with the bytes that are there, and those of all files.
using FetchProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Brings what the reader of checkpoints opens of a model into the cache: files that are there already stay, a file
/// that was cut off is resumed, by the same call several times. A file appears under its name once its hash is that of
/// the hub's list, and the revision last. Several calls and huggingface_hub may fetch at once. Throws Error: `usage` if
/// the settings allow no connection, `io` for refusals of the hub and for lost connections, `unsupported` for a model
/// without safetensors, `invalid_data` for files that are not what the hub states, `interrupted`.
FetchedModel fetch_model(const HubName& name, const HubSettings& settings, const FetchProgress& progress,
                         const StopSignal& stop);

}  // namespace relucent::index_tools
