#include "index_tools/indexing/progress_record.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/nesting.h"
#include "base/utf8.h"
#include "index_tools/corpora/named_descriptor.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::int64_t kHeadBytes = 64 * 1024;

// File names are bytes; JSON is UTF-8.
std::string printable(std::string path) {
  replace_malformed_utf8(path);
  return path;
}

}  // namespace

const char* to_string(Duplicates duplicates) noexcept {
  switch (duplicates) {
    case Duplicates::skip_later: return "skip-later";
    case Duplicates::keep: return "keep";
    case Duplicates::error: break;
  }
  return "error";
}

Duplicates duplicates_from(const std::string& name) {
  for (const Duplicates each : {Duplicates::error, Duplicates::skip_later, Duplicates::keep}) {
    if (name == to_string(each)) return each;
  }
  throw Error(ErrorKind::usage, "--duplicates " + name, "unknown policy", "choose error, skip-later or keep");
}

std::vector<InputFingerprint> fingerprints_of(const std::vector<InputFile>& files) {
  std::vector<InputFingerprint> fingerprints;
  for (const InputFile& file : files) {
    if (file.stream) {
      fingerprints.push_back({printable(file.path.string()), InputFingerprint::kStream, 0, 0});
      continue;
    }
    fingerprints.push_back(
        {printable(file.path.string()), file.size, file.modified_ns, checksum_of_file(file.path, kHeadBytes)});
  }
  return fingerprints;
}

std::map<std::string, std::string> to_user_data(const ProgressRecord& record) {
  nlohmann::json inputs = nlohmann::json::array();
  for (const InputFingerprint& input : record.inputs) {
    inputs.push_back(
        {{"path", input.path}, {"size", input.size}, {"modified_ns", input.modified_ns}, {"head", to_hex(input.head)}});
  }
  const nlohmann::json data = {{"corpus", record.corpus},
                               {"documents", record.documents},
                               {"skipped_files", record.skipped_files},
                               {"complete", record.complete},
                               {"updated", record.updated},
                               {"duplicates", to_string(record.duplicates)},
                               {"names", record.names},
                               {"inputs", inputs},
                               {"id_field", record.fields.id_field},
                               {"text_field", record.fields.text_field},
                               {"contents_field", record.fields.contents_field},
                               {"analyzer", to_string(record.analyzer)}};
  return {{kProgressKey, data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)}};
}

ProgressRecord progress_record_from(const std::map<std::string, std::string>& user_data, const std::string& place) {
  const auto found = user_data.find(kProgressKey);
  if (found == user_data.end()) {
    throw Error(ErrorKind::invalid_data, place, "the index was not written by `relucent index`",
                "index into another directory");
  }
  if (too_deep_in_json(found->second)) {
    throw Error(ErrorKind::invalid_data, place,
                fmt::format("the progress record in the index nests deeper than {} levels", kMaxNesting),
                "rebuild the index with --overwrite");
  }
  if (too_many_in_json(found->second)) {
    throw Error(ErrorKind::invalid_data, place,
                fmt::format("the progress record in the index has more than {} values", kMaxJsonValues),
                "rebuild the index with --overwrite");
  }
  try {
    const auto data = nlohmann::json::parse(found->second);
    ProgressRecord record;
    record.corpus = data.at("corpus").get<std::string>();
    record.documents = data.at("documents").get<std::int64_t>();
    record.skipped_files = data.value("skipped_files", std::int64_t{0});  // absent in indexes of earlier versions
    record.complete = data.at("complete").get<bool>();
    record.updated = data.value("updated", false);
    record.duplicates = duplicates_from(data.at("duplicates").get<std::string>());
    record.names = data.at("names").get<std::vector<std::string>>();
    record.fields.id_field = data.at("id_field").get<std::string>();
    record.fields.text_field = data.at("text_field").get<std::string>();
    record.fields.contents_field = data.at("contents_field").get<std::string>();
    const auto analyzer = analyzer_from(data.at("analyzer").get<std::string>());
    if (!analyzer) {
      throw Error(ErrorKind::invalid_data, place, "the progress record in the index names an unknown analyzer",
                  "restore the index from a copy, or index into another directory");
    }
    record.analyzer = *analyzer;
    for (const auto& input : data.at("inputs")) {
      record.inputs.push_back({input.at("path").get<std::string>(), input.at("size").get<std::int64_t>(),
                               input.at("modified_ns").get<std::int64_t>(),
                               from_hex(input.at("head").get<std::string>(), place)});
    }
    return record;
  } catch (const nlohmann::json::exception& reason) {
    throw Error(ErrorKind::invalid_data, place,
                fmt::format("the progress record in the index cannot be read: {}", reason.what()),
                "restore the index from a copy, or index into another directory");
  }
}

void check_same_run(const ProgressRecord& before, const ProgressRecord& now, const std::string& place, bool any_input) {
  const auto refuse = [&](const std::string& problem, const std::string& remedy) {
    throw Error(ErrorKind::usage, place, problem, remedy);
  };
  if (before.corpus != now.corpus) {
    refuse(fmt::format("was started with --corpus {}, not {}", before.corpus, now.corpus),
           "resume with the same corpus, or replace the index with --overwrite");
  }
  if (before.duplicates != now.duplicates) {
    refuse(fmt::format("was started with --duplicates {}", to_string(before.duplicates)),
           "resume with the same setting, or replace the index with --overwrite");
  }
  if (before.names != now.names) {
    refuse("was started with other --names patterns",
           "resume with the same ones, or replace the index with --overwrite");
  }
  if (any_input) return;
  const std::string remedy =
      "pass the same input as before, replace the index with --overwrite, or accept the change with --force-resume";
  if (before.inputs.size() != now.inputs.size()) {
    refuse(
        fmt::format("was started with {} input files, but now there are {}", before.inputs.size(), now.inputs.size()),
        remedy);
  }
  for (std::size_t i = 0; i < now.inputs.size(); ++i) {
    const InputFingerprint &old_file = before.inputs[i], &new_file = now.inputs[i];
    if (old_file.size == InputFingerprint::kStream || new_file.size == InputFingerprint::kStream) {
      refuse(fmt::format("input {} is a stream, which cannot be compared with the earlier input",
                         input_name(new_file.path)),
             "if it is the same, resume with --force-resume; otherwise replace the index with --overwrite");
    }
    const char* difference = old_file.size != new_file.size                 ? "size"
                             : old_file.head != new_file.head               ? "content"
                             : old_file.modified_ns != new_file.modified_ns ? "modification time"
                                                                            : nullptr;
    if (difference == nullptr) continue;
    const std::string name = old_file.path == new_file.path
                                 ? new_file.path
                                 : fmt::format("{} (previously {})", new_file.path, old_file.path);
    refuse(fmt::format("the {} of input {} has changed since indexing began", difference, name), remedy);
  }
}

}  // namespace relucent::index_tools
