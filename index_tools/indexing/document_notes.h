#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/random_file.h"
#include "model/graphs/build_graph.h"
#include "relucent/stop.h"

namespace relucent::index_tools {

/// A file of JSON lines about documents, in any order, each found by its "id". Plain text, not compressed; stays
/// open, and only one line at a time is in memory, so its size does not matter. Thread-safe.
class DocumentNotes {
 public:
  /// What is wrong with the object about a document; null if nothing is.
  using Check = const char* (*)(const nlohmann::json& object);

  /// Reads and checks the whole file. Throws Error: `io` if it cannot be read; `invalid_data` at file:line for a line
  /// that is not a JSON object with an "id", that `check` refuses (`form` is then the remedy), and for an id that
  /// occurs twice; `interrupted` for `stop`.
  DocumentNotes(const std::filesystem::path& file, Check check, std::string_view form, const StopSignal& stop);

  std::size_t size() const noexcept { return entries_.size(); }
  /// Checksum of the file's bytes.
  std::uint64_t checksum() const noexcept { return checksum_; }
  const std::filesystem::path& path() const noexcept { return file_.path(); }

 protected:
  /// The object about a document; nullopt if there is none.
  std::optional<nlohmann::json> find(std::string_view id) const;

 private:
  struct Entry {
    std::uint64_t hash = 0, begin = 0, size = 0, line = 0;
  };
  nlohmann::json read(const Entry& entry, std::string& id) const;
  nlohmann::json parse(std::string text, const Entry& entry, std::string& id) const;
  [[noreturn]] void refuse(std::size_t line, const std::string& problem, std::string_view remedy) const;

  RandomFile file_;
  std::vector<Entry> entries_;  // by the hash of the id
  std::uint64_t checksum_ = 0;
};

/// Weights of documents' terms: {"id", "weights": {term: number}}.
class WeightNotes : public DocumentNotes {
 public:
  WeightNotes(const std::filesystem::path& file, const StopSignal& stop);
  std::optional<TermWeights> of(std::string_view id) const;
};

/// Entities in documents' texts: {"id", "entities": [{"start", "end", "id", "score"?}]}, places in code points.
class EntityNotes : public DocumentNotes {
 public:
  EntityNotes(const std::filesystem::path& file, const StopSignal& stop);
  std::vector<EntityPlace> of(std::string_view id) const;
};

}  // namespace relucent::index_tools
