# Writes OUT, a C++ source with the lists of FOLDER as stop_word_lists():
# cmake -D FOLDER=... -D OUT=... -P embed_stop_words.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../../../../cmake/CppLiteral.cmake)
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.txt)
list(SORT files)
set(entries "")
foreach(name ${files})
  relucent_cpp_literal(${FOLDER}/${name} literal)
  get_filename_component(language ${name} NAME_WE)
  string(APPEND entries "  {AnalyzerKind::${language},\n    \"${literal}\"},\n")
endforeach()
file(WRITE ${OUT}.new "// Written by embed_stop_words.cmake.
#include \"plugin/index_format/analysis/languages/stop_words.h\"

namespace relucent::analysis {
namespace {

constexpr StopWordList kLists[] = {
${entries}};

}  // namespace

std::span<const StopWordList> stop_word_lists() { return kLists; }

}  // namespace relucent::analysis
")
file(RENAME ${OUT}.new ${OUT})
