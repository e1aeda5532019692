# The target relucent_api_reference: the C++ interface as web pages, from the public headers, in api/html of the build
# folder. Needs doxygen. A wrong comment is an error. The test `api_reference` writes the same pages. Run as a script,
# with the project's three variables, this writes only the Doxyfile (cmake/packages/docs.sh).
set(RELUCENT_API_FOLDERS "")
foreach(room base config kernels model plugin)
  string(APPEND RELUCENT_API_FOLDERS " \"${PROJECT_SOURCE_DIR}/${room}/include\"")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
if(NOT CMAKE_SCRIPT_MODE_FILE)
  add_custom_target(relucent_api_reference COMMAND doxygen ${PROJECT_BINARY_DIR}/Doxyfile VERBATIM
                    COMMENT "API reference: ${PROJECT_BINARY_DIR}/api/html/index.html")
endif()
