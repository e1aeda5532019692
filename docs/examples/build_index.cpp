// Builds an index from lines of an id, a tab and a text, on standard input; a second run adds what is new.
// Usage: build_index INDEX < documents.tsv
#include <relucent/error.h>
#include <relucent/index_builder.h>

#include <filesystem>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    using relucent::IndexBuilder;
    const bool exists = std::filesystem::exists(argv[1]);
    const auto builder =
        IndexBuilder::open(argv[1], exists ? IndexBuilder::Mode::append : IndexBuilder::Mode::create, {});
    // What a commit records survives a kill together with the documents: here the number of lines that are indexed.
    const auto recorded = builder->committed();
    const long done = recorded.contains("lines") ? std::stol(recorded.at("lines")) : 0;
    long line_number = 0;
    for (std::string line; std::getline(std::cin, line);) {
      if (++line_number <= done) continue;
      const std::size_t tab = line.find('\t');
      if (tab == std::string::npos) {
        std::cerr << "line " << line_number << " has no tab\n";
        return 1;
      }
      builder->add(line.substr(0, tab), line.substr(tab + 1));
    }
    builder->commit({{"lines", std::to_string(line_number)}});
    builder->close();
    std::cout << builder->totals().documents << " documents\n";
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
