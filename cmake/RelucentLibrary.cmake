# librelucent: the rooms below the tools as one shared library that exports the public headers' symbols only.
set(rooms relucent_base relucent_kernels relucent_model relucent_config relucent_index_format
          relucent_second_stage relucent_lucene)
add_library(relucent SHARED)
relucent_target(relucent)
set_target_properties(relucent PROPERTIES  # docs/stability.md
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  ${RELUCENT_FINAL_RPATH})
target_link_libraries(relucent PUBLIC relucent_lucenepp)
foreach(room ${rooms})
  # The objects whole, and what the room links besides other rooms.
  target_sources(relucent PRIVATE $<TARGET_OBJECTS:${room}>)
  get_target_property(libraries ${room} LINK_LIBRARIES)
  if(libraries)
    list(REMOVE_ITEM libraries ${rooms} relucent_lucenepp)
    target_link_libraries(relucent PRIVATE ${libraries})
  endif()
endforeach()
foreach(room base kernels model config plugin)
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
