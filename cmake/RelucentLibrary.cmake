# librelucent: the rooms below the tools as one shared library that exports the public headers' symbols only.
add_library(relucent SHARED plugin/version.cpp)
relucent_target(relucent)
target_compile_definitions(relucent PRIVATE RELUCENT_VERSION="${PROJECT_VERSION}")
set_target_properties(relucent PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
set(RELUCENT_ROOMS relucent_kernels relucent_model relucent_config relucent_plugin)
target_link_libraries(relucent
  PUBLIC relucent_lucenepp
  PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,relucent_kernels,relucent_model,relucent_config,relucent_plugin>)
foreach(room kernels model config plugin)
  target_include_directories(relucent PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${room}/include>)
endforeach()
target_include_directories(relucent PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(Relucent::relucent ALIAS relucent)

# The build tree is laid out like an installed one, so that the library finds the bundled model in both.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/relucent)
foreach(folder model config index_tools/demo)
  get_filename_component(name ${folder} NAME)
  if(NOT EXISTS ${PROJECT_BINARY_DIR}/share/relucent/${name})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${PROJECT_BINARY_DIR}/share/relucent/${name} SYMBOLIC)
  endif()
endforeach()
