#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "index_tools/evaluation/output_file.h"
#include "index_tools/program/energy_meter.h"
#include "relucent/config.h"

namespace relucent::program {

/// A tree of ir_metadata: keys stay in the order in which they were written.
using Metadata = nlohmann::ordered_json;

/// YAML of a tree whose texts are quoted as in JSON.
std::string to_yaml(const Metadata& tree);

/// `--metadata FILE`: how a run came about, in the schema of ir_metadata (Breuer, Keller and Schaer, SIGIR 2022), with
/// the resources that TIREx's tracker adds. A file *.yml or *.yaml is YAML; another one is the block of comments that
/// ir_metadata puts in front of a run. Without a file, nothing is measured or written.
class MetadataFile {
 public:
  /// Opens the file, to fail early, and starts to measure. Throws Error `io`.
  explicit MetadataFile(const std::string& file);
  ~MetadataFile();

  bool wanted() const noexcept { return output_ != nullptr; }
  /// Adds platform, implementation and resources to what the command knows: `tag`, `research goal`, `data` and
  /// `method`. Call it when the results are in place. Throws Error `io`.
  void write(const Metadata& known);

 private:
  Metadata resources();

  std::string name_;
  std::unique_ptr<index_tools::OutputFile> output_;
  std::unique_ptr<EnergyMeter> energy_;
  std::chrono::system_clock::time_point started_;
  std::chrono::steady_clock::time_point start_;
};

/// Adds --metadata.
void add_metadata_flag(CLI::App& command, std::string& file);

/// The entries of `method` / `retrieval` for a first stage: what scores, and RM3 if it is on.
Metadata first_stage_metadata(const FirstStageConfig& config);
/// The entry for a second stage that reranks the entry `reranks`.
/// @param scorer  its description
Metadata rescorer_metadata(const SecondStageConfig& config, const std::string& scorer, const std::string& reranks);

}  // namespace relucent::program
