# Writes OUT, a C++ source with the lists of FOLDER as stop_word_lists():
# cmake -D FOLDER=... -D OUT=... -P embed_stop_words.cmake
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.txt)
list(SORT files)
set(entries "")
foreach(name ${files})
  # As bytes, so that no text in them means anything to CMake or C++.
  file(READ ${FOLDER}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" text "${bytes}")
  set(byte "(\\\\x..)?")
  string(REGEX MATCHALL "\\\\x..${byte}${byte}${byte}${byte}${byte}${byte}${byte}" lines "${text}")
  string(REPLACE ";" "\"\n    \"" literal "${lines}")
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
