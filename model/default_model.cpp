#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file/file_io.h"
#include "base/file/own_file.h"
#include "model/checkpoint/hub_cache.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {

namespace fs = std::filesystem;

fs::path default_model() {
  if (const char* stated = std::getenv("RELUCENT_MODEL"); stated != nullptr && *stated != '\0') {
    if (is_directory(status_of(stated))) return stated;
    throw Error(ErrorKind::io, stated, "the environment variable RELUCENT_MODEL does not name a directory",
                "set it to a model directory, or unset it to use the bundled model");
  }
  // Next to the library: PREFIX/lib or PREFIX/lib/ARCHITECTURE next to PREFIX/share.
  constexpr int levels = 3;
  const fs::path file = own_file();
  fs::path prefix = file.parent_path();
  for (int level = 0; level < levels && prefix.has_relative_path(); ++level) {
    prefix = prefix.parent_path();
    fs::path model = prefix / "share/relucent/model/relucent-minilm-l6-w4";
    if (std::error_code hidden; fs::is_directory(model, hidden)) return model;
  }
  throw Error(ErrorKind::io, file.string(),
              "the bundled model was not found at share/relucent/model/relucent-minilm-l6-w4 next to it",
              "set RELUCENT_MODEL to a model directory, or reinstall Relucent");
}

fs::path model_folder(const fs::path& named) {
  if (named.empty()) return default_model();
  const std::optional<HubName> name = read_hub_name(named.native());
  if (!name || exists(status_of(named))) return named;
  const fs::path cache = hub_cache();
  if (auto snapshot = find_snapshot(cache, *name)) return *snapshot;
  throw Error(ErrorKind::io, named.string(),
              "is neither a folder nor a model in Hugging Face's cache, " + cache.string(),
              "check the name, or bring the model there: relucent model fetch " + named.string());
}

}  // namespace relucent
