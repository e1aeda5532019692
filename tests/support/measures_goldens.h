#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/text_lines.h"
#include "tests/support/test_data.h"

/// The goldens of trec_eval and SciPy, and the runs and judgments that they are about.
namespace relucent::testing {

namespace fs = std::filesystem;
using nlohmann::json;

inline fs::path measures_folder() { return golden_path("measures"); }

/// The files that have the key; without one, those of collections.
inline std::vector<json> golden_files(const char* key_inside) {
  std::vector<json> found;
  for (const auto& entry : fs::directory_iterator(measures_folder())) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".json") && !name.ends_with(".json.gz")) continue;
    std::string text;
    index_tools::for_each_line(entry.path(), [&](const std::string& line, std::int64_t) { text += line + "\n"; });
    json content = json::parse(text);
    const bool collections = std::all_of(content.begin(), content.end(), [](const json& value) {
      return value.is_object() && value.contains("as_scored");
    });
    if (key_inside != nullptr ? content.contains(key_inside) : collections) found.push_back(std::move(content));
  }
  return found;
}

// ir_measures' own order of ties is not ours; everything else in the goldens is.
inline bool is_ours(const std::string& name) { return name.find("(ir_measures)") == std::string::npos; }

inline fs::path qrels_of(const std::string& collection) {
  const fs::path data = test_data();
  if (collection == "cranfield") return golden_path("measures/cranfield.qrels");
  if (collection == "med") return data / "collections/med/MED.REL";
  if (collection == "vaswani") return data / "collections/vaswani/qrels";
  return data / "qrels" / ("qrels." + collection + "-passage.txt");
}

/// Whether the golden BM25 file and the judgments of its collection are here; prints which one is missing.
inline bool has_bm25_run(const std::string& collection, const std::string& parameters) {
  for (const fs::path& file :
       {golden_path("bm25/" + collection + "." + parameters + ".tsv.gz"), qrels_of(collection)}) {
    if (fs::exists(file)) continue;
    std::cout << "SKIPPED: " << collection << " " << parameters << " needs " << file << "\n";
    return false;
  }
  return true;
}

// A golden BM25 file as a run: with its scores, or with 1000 - rank so that the file's order is kept.
inline index_tools::Run bm25_run(const fs::path& file, bool as_ranked) {
  index_tools::Run run;
  index_tools::for_each_line(file, [&](const std::string& line, std::int64_t) {
    const auto fields = index_tools::split_fields(line);
    double rank = 0, score = 0;
    ASSERT_TRUE(fields.size() == 5 && index_tools::parse_number(fields[2], rank) &&
                index_tools::parse_number(fields[3], score))
        << line;
    run.queries[std::string(fields[0])].push_back({std::string(fields[1]), as_ranked ? 1000 - rank : score});
  });
  return run;
}

}  // namespace relucent::testing
