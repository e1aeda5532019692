#pragma once

#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relucent::program {

/// The Python program that scores pairs with a library.
const char* reference_script();

/// What a score of a library is.
enum class ReferenceKind { pairs, embeddings, late_interaction };

/// What a library answered.
struct ReferenceScores {
  std::map<std::string, std::string> versions;  ///< of the library and what it stands on
  std::vector<double> scores;                   ///< in the pairs' order
  double seconds = 0;                           ///< that scoring took, after a first call
};

/// Scores pairs of texts (query, document) with a Python library, in fp32 on the CPU, in a process of its own that
/// opens no connection. Throws Error: `io` if the interpreter cannot be started; `unsupported` if it lacks the library;
/// `invalid_data` if the library cannot read the folder, quoting its message, or answers otherwise than one finite
/// score per pair; `interrupted`, after ending the process, when `stop` is due.
///
/// @param library  sentence-transformers, transformers or, for late interaction, pylate
ReferenceScores score_with_library(const std::string& python, const std::string& library,
                                   const std::filesystem::path& folder,
                                   const std::vector<std::pair<std::string_view, std::string_view>>& pairs, int threads,
                                   ReferenceKind kind, const std::stop_token& stop);

}  // namespace relucent::program
