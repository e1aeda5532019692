# Programs that only measure; nothing runs them by itself. Debian's own CMake package of oneDNN asks for OpenCL's
# headers, which its CPU engine does not need.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
  add_executable(product_benchmark benchmarks/product_benchmark.cpp)
  relucent_target(product_benchmark)
  target_include_directories(product_benchmark SYSTEM PRIVATE ${DNNL_INCLUDE_DIR})
  target_link_libraries(product_benchmark PRIVATE relucent_kernels ${DNNL_LIBRARY})
  set_target_properties(product_benchmark PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endif()

add_executable(cores_benchmark benchmarks/cores_benchmark.cpp)
relucent_target(cores_benchmark)
target_include_directories(cores_benchmark PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(cores_benchmark PRIVATE relucent_kernels GTest::gtest)
set_target_properties(cores_benchmark PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

add_executable(mir_benchmark benchmarks/mir_benchmark.cpp)
relucent_target(mir_benchmark)
target_include_directories(mir_benchmark PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(mir_benchmark PRIVATE relucent_model nlohmann_json::nlohmann_json)
set_target_properties(mir_benchmark PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

# The comparison with other libraries, as far as it needs none of them.
add_test(NAME peers_settings COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/index_tools/program/peers_settings_test.py)
set_tests_properties(peers_settings PROPERTIES LABELS "cli" TIMEOUT 60)
