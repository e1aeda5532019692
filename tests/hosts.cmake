# A program that opens a plugin with the library, in circumstances that a library must bear.
add_library(hosted_search MODULE hosts/hosted_search.cpp)
target_link_libraries(hosted_search PRIVATE relucent)
add_executable(host hosts/host.cpp)
add_executable(host_with_allocator hosts/host.cpp)
target_compile_definitions(host_with_allocator PRIVATE REPLACE_ALLOCATOR)
add_library(checked_malloc MODULE hosts/checked_malloc.cpp)
target_compile_options(checked_malloc PRIVATE -fno-builtin)  # calls of malloc() in it are meant as they are written
foreach(target hosted_search host host_with_allocator checked_malloc)
  relucent_target(${target})
  relucent_test_options(${target})
  set_target_properties(${target} PROPERTIES PREFIX "" RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/hosts
                                             LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/hosts)
endforeach()
foreach(target host host_with_allocator)
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
if(NOT RELUCENT_SANITIZE)  # sanitizers replace the allocator, handle signals and do not unload
  add_test(NAME hosts COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/hosts/hosts_test.py ${PROJECT_BINARY_DIR}/tests/hosts
                              $<TARGET_SONAME_FILE:relucent>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(hosts PROPERTIES LABELS "fault;plugin" TIMEOUT 300)
  relucent_without_gpu(hosts "fault")
endif()
