#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace relucent {

/// A model on Hugging Face's hub: ORG/NAME, or ORG/NAME@REVISION with a branch, a tag or a commit.
struct HubName {
  std::string repository, revision = "main";
};

/// Empty for a text that is not such a name.
std::optional<HubName> read_hub_name(std::string_view text);

/// Where Hugging Face's programs keep their files: $HF_HOME, by default ~/.cache/huggingface.
std::filesystem::path hub_home();
/// And what they download: $HF_HUB_CACHE, or `hub` in hub_home().
std::filesystem::path hub_cache();
/// A model's folder in the cache.
std::string cache_folder_of(const HubName& name);

/// The folder of a revision that is in `cache`; nullopt if it is not. Throws Error: `io` if the cache cannot be read,
/// `invalid_data` for a file of the cache that does not contain a commit.
std::optional<std::filesystem::path> find_snapshot(const std::filesystem::path& cache, const HubName& name);

}  // namespace relucent
