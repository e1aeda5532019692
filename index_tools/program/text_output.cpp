#include "index_tools/program/text_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <span>

#include "base/text.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/indexing/progress.h"

namespace relucent::program {

void write_result(const std::string& file, std::string_view text) {
  if (file == "-") {
    std::cout << text;
    return;
  }
  index_tools::OutputFile output(file);
  output.write(text);
  output.commit();
}

void write_plot(const std::string& file, std::string_view svg, const std::string& what, bool quiet) {
  write_result(file, svg);
  if (quiet || file == "-") return;
  std::cout.flush();
  std::cerr << "relucent: wrote " << file << ": " << what << "\n";
}

std::string query_list(const std::vector<std::string>& ids, const std::string& what) {
  return fmt::format("{} {}: {}{}", index_tools::with_commas(ids.size()), what,
                     join(std::span(ids).first(std::min<std::size_t>(ids.size(), 5))), ids.size() > 5 ? ", ..." : "");
}

}  // namespace relucent::program
