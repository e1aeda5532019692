#include "index_tools/benchmarks/generated_index.h"

#include <LuceneHeaders.h>

#include <chrono>
#include <map>
#include <ostream>

#include "index_tools/benchmarks/generated_collection.h"
#include "relucent/index_builder.h"
#include "relucent/stored_text.h"

namespace relucent::benchmarks {
namespace {

constexpr const char *kDocumentsKey = "benchmark.documents", *kKindKey = "benchmark.kind";

std::map<std::string, std::string> description_of(const GeneratedIndex& index) {
  std::map<std::string, std::string> data = {{kDocumentsKey, std::to_string(index.documents)}};
  if (!index.kind.empty()) data[kKindKey] = index.kind;
  return data;
}

bool is_there(const GeneratedIndex& wanted) {
  if (!std::filesystem::exists(wanted.folder / "segments.gen")) return false;
  const auto directory = Lucene::FSDirectory::open(wanted.folder.wstring());
  auto found = Lucene::IndexReader::getCommitUserData(directory);  // its get() is not const
  for (const auto& [key, value] : description_of(wanted)) {
    if (!found.contains(to_lucene(key)) || found.get(to_lucene(key)) != to_lucene(value)) return false;
  }
  return true;
}

}  // namespace

void keep_generated_index(const GeneratedIndex& wanted, std::ostream& log) {
  if (is_there(wanted)) return;
  GeneratedCollection collection;
  IndexBuilder::Options options;
  options.fields = wanted.fields;
  const auto builder = IndexBuilder::open(wanted.folder, IndexBuilder::Mode::overwrite, options);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < wanted.documents; ++i) {
    const std::string text = collection.next_document();
    builder->add(std::to_string(i), text, wanted.metadata ? wanted.metadata(i, text) : std::string());
    if ((i + 1) % 100'000 == 0) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      log << "indexed " << i + 1 << " generated documents in " << static_cast<int>(seconds.count()) << " s\n";
    }
  }
  builder->commit(description_of(wanted));
  builder->merge(1);
  builder->close();
}

}  // namespace relucent::benchmarks
