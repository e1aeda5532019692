#include <dlfcn.h>
#include <fmt/core.h>

#include <filesystem>

#include "base/file/file_io.h"
#include "plugin/second_stage/built_in_scorers.h"
#include "relucent/error.h"
#include "relucent/model/late_interaction.h"
#include "relucent/model/mix_encoder.h"
#include "relucent/scorer.h"

namespace relucent {
namespace {

constexpr const char* kBuiltIn = "cross-encoder";
constexpr const char* kAbiSymbol = "relucent_scorer_abi";
constexpr const char* kFactorySymbol = "relucent_make_scorer";
using Factory = Scorer* (*)(const ScorerConfig&);

std::string loader_message() {
  const char* message = dlerror();
  return message != nullptr ? message : "unknown reason";
}

void* symbol(void* library, const char* name, const std::string& place) {
  dlerror();
  void* address = dlsym(library, name);
  if (address == nullptr) {
    throw Error(ErrorKind::invalid_data, place, fmt::format("is not a scorer module: it does not export {}", name),
                "add RELUCENT_SCORER_MODULE(YourScorer) of relucent/scorer.h to it");
  }
  return address;
}

std::shared_ptr<const Scorer> load_module(const ScorerConfig& config) {
  const std::string place = std::filesystem::absolute(config.module).lexically_normal().string();
  if (!is_regular_file(status_of(place))) {
    throw Error(ErrorKind::io, place, "the scorer module does not exist",
                fmt::format("set [rescorer] module to \"{}\" or to a shared object's path", kBuiltIn));
  }
  // Never closed: exceptions, statics and threads of the module may outlive the last scorer.
  void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    throw Error(ErrorKind::invalid_data, place, "cannot be loaded: " + loader_message(),
                "build it as a shared object for this machine");
  }
  const int abi = *static_cast<const int*>(symbol(library, kAbiSymbol, place));
  if (abi != kScorerAbi) {
    throw Error(ErrorKind::invalid_data, place,
                fmt::format("was built for scorer interface {}, but this library has {}", abi, kScorerAbi),
                "rebuild it with this library's relucent/scorer.h");
  }
  const auto factory = reinterpret_cast<Factory>(symbol(library, kFactorySymbol, place));
  Scorer* made = nullptr;
  try {
    made = factory(config);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::invalid_data, place, fmt::format("its scorer could not be created: {}", error.what()));
  } catch (...) {
    throw Error(ErrorKind::invalid_data, place, "its scorer could not be created: unknown exception");
  }
  if (made == nullptr) throw Error(ErrorKind::invalid_data, place, "its relucent_make_scorer returned no scorer");
  return std::shared_ptr<const Scorer>(made);
}

/// The model_type of [rescorer] model. Loading a folder that cannot be read reports what is wrong with it.
std::string model_type_of(const ScorerConfig& config) {
  if (config.model.empty()) return {};
  try {
    return checkpoint_model_type(config.model);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::shared_ptr<const Scorer> make_scorer(const ScorerConfig& config, OnError on_error) {
  if (config.module != kBuiltIn) return load_module(config);
  const std::string type = model_type_of(config);
  if (type == "mixencoder") return make_mix_encoder_scorer(config, on_error);
  if (type == "mir") return make_mir_scorer(config, on_error);
  if (!type.empty() && LateInteraction::is(config.model)) return make_late_interaction_scorer(config, on_error);
  return make_cross_encoder_scorer(config, on_error);
}

}  // namespace relucent
