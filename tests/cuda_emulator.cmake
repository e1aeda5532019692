# The CUDA emulator (cuda_emulator/emulator.h) and what is run on it; label `cuda`. Its fibers and its own reading of
# -fsanitize=thread do not go together with sanitizers.
option(RELUCENT_CUDA_EMULATION "Build the CUDA emulator and its tests" ON)
set(RELUCENT_CUDA_EMULATOR OFF)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
find_package(Boost COMPONENTS context QUIET)
if(NOT RELUCENT_CUDA_EMULATION)
  message(STATUS "CUDA emulator and its tests: left out by RELUCENT_CUDA_EMULATION")
elseif(RELUCENT_SANITIZE)
  message(STATUS "CUDA emulator and its tests: left out in builds with sanitizers")
elseif(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(STATUS "CUDA emulator and its tests: left out, they are for GCC on x86-64")
elseif(NOT TARGET Boost::context OR NOT DNNL_INCLUDE_DIR OR NOT DNNL_LIBRARY)
  message(STATUS "CUDA emulator and its tests: left out for want of libboost-context-dev or libdnnl-dev")
else()
  set(RELUCENT_CUDA_EMULATOR ON)
endif()

# relucent_emulate(TARGET): its sources are compiled with the emulator's headers and watched while they run on it. The
# instrumentation calls the emulator's functions, not libtsan's.
function(relucent_emulate name)
  target_include_directories(${name} BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/tests/cuda_emulator/include)
  target_compile_options(${name} PRIVATE -O2 -fno-stack-protector -Wno-unknown-pragmas -fsanitize=thread
                                         "SHELL:--param tsan-instrument-func-entry-exit=0")
  target_link_libraries(${name} PUBLIC relucent_cuda_emulator)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)  # a kernel's file has names of its own
endfunction()

# relucent_emulated_cuda(TARGET SOURCES...): a shared library of .cu and .cpp files as they are, for the emulator.
function(relucent_emulated_cuda name)
  add_library(${name} SHARED ${ARGN})
  relucent_target(${name})
  relucent_emulate(${name})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  set(kernels ${ARGN})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  set_source_files_properties(${kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES UNITY_BUILD "${CMAKE_UNITY_BUILD}")
  target_compile_options(${name} PRIVATE "SHELL:-x c++")  # the compiler would not know a .cu file
endfunction()

if(RELUCENT_CUDA_EMULATOR)
  add_library(relucent_cuda_emulator SHARED
    cuda_emulator/access.cpp
    cuda_emulator/cublaslt.cpp
    cuda_emulator/devices.cpp
    cuda_emulator/driver.cpp
    cuda_emulator/error_names.cpp
    cuda_emulator/execution.cpp
    cuda_emulator/instructions.cpp
    cuda_emulator/memory.cpp
    cuda_emulator/reports.cpp
    cuda_emulator/runtime.cpp
    cuda_emulator/work.cpp
  )
  relucent_target(relucent_cuda_emulator)
  set_target_properties(relucent_cuda_emulator PROPERTIES CXX_VISIBILITY_PRESET default UNITY_BUILD OFF)
  target_compile_options(relucent_cuda_emulator PRIVATE -O3 -fno-semantic-interposition -fno-stack-protector)
  target_include_directories(relucent_cuda_emulator PUBLIC ${PROJECT_SOURCE_DIR} PRIVATE cuda_emulator/include)
  target_include_directories(relucent_cuda_emulator SYSTEM PRIVATE ${DNNL_INCLUDE_DIR})
  target_link_libraries(relucent_cuda_emulator PRIVATE Boost::context ${DNNL_LIBRARY} gomp ${CMAKE_DL_LIBS})

  relucent_test(cuda_emulator_tests LABELS unit cuda SOURCES
    cuda/library_unit.cpp
    kernels/emulator/faults_unit.cpp
    kernels/emulator/fragments_golden.cpp
    kernels/emulator/instructions_unit.cpp
    kernels/emulator/products_unit.cpp
    kernels/emulator/runtime_unit.cpp
    kernels/emulator/work_unit.cpp
    ${PROJECT_SOURCE_DIR}/kernels/cuda/device.cpp
    ${PROJECT_SOURCE_DIR}/kernels/cuda/matmul_form.cpp
    LIBRARIES relucent_cuda_emulator relucent_base)
  relucent_emulate(cuda_emulator_tests)
  set_target_properties(cuda_emulator_tests PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  target_compile_definitions(cuda_emulator_tests PRIVATE RELUCENT_CUDA_IS_EMULATED
    RELUCENT_GOLDEN_FRAGMENTS="${CMAKE_CURRENT_SOURCE_DIR}/goldens/cuda/fragments.txt")
  add_executable(cuda_emulator_probe kernels/emulator/probe_unit.cpp)
  relucent_target(cuda_emulator_probe)
  relucent_emulate(cuda_emulator_probe)
  set_target_properties(cuda_emulator_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(cuda_emulator_tests cuda_emulator_probe)
  target_compile_definitions(cuda_emulator_tests PRIVATE RELUCENT_EMULATOR_PROBE="$<TARGET_FILE:cuda_emulator_probe>")
endif()
