# Writes OUT, a C++ source with the files of FOLDER as page_files(): cmake -D FOLDER=... -D OUT=... -P embed_page.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/CppLiteral.cmake)
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.html ${FOLDER}/*.css ${FOLDER}/*.js ${FOLDER}/*.svg)
list(SORT files)
set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")
set(entries "")
foreach(name ${files})
  relucent_cpp_literal(${FOLDER}/${name} literal)
  get_filename_component(extension ${name} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND entries
         "  {\"${path}\", \"${types_${extension}}\", std::string_view(\n    \"${literal}\", ${literal_SIZE})},\n")
endforeach()
file(WRITE ${OUT}.new "// Written by server/embed_page.cmake.
#include \"server/page.h\"

namespace relucent::server {
namespace {

constexpr PageFile kFiles[] = {
${entries}};

}  // namespace

std::span<const PageFile> page_files() { return kFiles; }

}  // namespace relucent::server
")
file(RENAME ${OUT}.new ${OUT})
