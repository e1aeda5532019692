#include "index_tools/program/text_output.h"

#include <iostream>

#include "index_tools/evaluation/output_file.h"

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

}  // namespace relucent::program
