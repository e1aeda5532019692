# Tests of everything around the CUDA backend that need neither a toolkit nor a GPU: fake modules replace the real one.
set(fakes ${PROJECT_BINARY_DIR}/tests/cuda)
function(relucent_fake_cuda name)
  add_library(${name} MODULE ${ARGN})
  relucent_target(${name})
  target_compile_definitions(${name} PRIVATE RELUCENT_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE relucent_kernels)
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${fakes})
  add_dependencies(fake_cuda_modules ${name})
endfunction()
add_custom_target(fake_cuda_modules)
relucent_fake_cuda(fake_cuda cuda/fake_module.cpp)
relucent_fake_cuda(fake_cuda_other_abi cuda/fake_module.cpp)
target_compile_definitions(fake_cuda_other_abi PRIVATE FAKE_ABI=relucent::cuda::kModuleAbi+1)
relucent_fake_cuda(fake_cuda_other_version cuda/fake_module.cpp)
target_compile_definitions(fake_cuda_other_version PRIVATE FAKE_VERSION="0.0.9")
relucent_fake_cuda(fake_cuda_empty cuda/empty.cpp)
# A module that needs a library which is not there when it is loaded.
add_library(cublasLt_not_there SHARED cuda/not_there.cpp)
relucent_target(cublasLt_not_there)
set_target_properties(cublasLt_not_there PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${fakes}/removed)
relucent_fake_cuda(fake_cuda_missing_library cuda/fake_module.cpp)
target_link_libraries(fake_cuda_missing_library PRIVATE -Wl,--no-as-needed cublasLt_not_there -Wl,--as-needed)
set_target_properties(fake_cuda_missing_library PROPERTIES SKIP_BUILD_RPATH ON)

relucent_test(cuda_module_tests LABELS fault unit cuda threads kernels
              SOURCES kernels/cuda_module_fault.cpp
              LIBRARIES relucent_kernels)
set(built "")
if(TARGET relucent_cuda)
  set(built "$<TARGET_FILE:relucent_cuda>")
  add_dependencies(cuda_module_tests relucent_cuda)
endif()
target_compile_definitions(cuda_module_tests PRIVATE RELUCENT_FAKE_CUDA_MODULES="${fakes}"
                                                     RELUCENT_CUDA_MODULE_BUILT="${built}")
add_dependencies(cuda_module_tests fake_cuda_modules)

# The scripts that are run by hand on a machine with a GPU, as far as they need none, and the one that reads the
# registers, spills and shared memory of every kernel. They run none of the compiled code: once is enough, so not under
# sanitizers.
if(NOT RELUCENT_SANITIZE)
  add_test(NAME gpu_script COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cuda/gpu_script_test.py)
  set_tests_properties(gpu_script PROPERTIES LABELS "cli;cuda" TIMEOUT 300)
  add_test(NAME cuda_resources_script COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cuda/resources_test.py)
  set_tests_properties(cuda_resources_script PROPERTIES LABELS "unit;cuda")
endif()
if(TARGET relucent_cuda)
  string(REGEX MATCHALL "[0-9]+" numbers "${CMAKE_CUDA_ARCHITECTURES}")
  list(TRANSFORM numbers PREPEND sm_)
  list(JOIN numbers "," numbers)
  add_test(NAME cuda_resources COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/cuda/resources.py ${numbers}
           $<TARGET_OBJECTS:relucent_cuda> COMMAND_EXPAND_LISTS)
else()
  add_test(NAME cuda_resources COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: built without a CUDA toolkit")
  set_tests_properties(cuda_resources PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:")
endif()
set_tests_properties(cuda_resources PROPERTIES LABELS "unit;cuda")

# The backend's calls that need no device, to the toolkit's own libraries; cuda_emulator_tests makes the same calls to
# the emulator. A machine with a toolkit may not skip it.
if(TARGET relucent_cuda)
  relucent_test(cuda_real_library LABELS unit cuda kernels
                SOURCES cuda/library_unit.cpp cuda/driver_unit.cpp ${PROJECT_SOURCE_DIR}/kernels/cuda/device.cpp
                        ${PROJECT_SOURCE_DIR}/kernels/cuda/driver.cpp ${PROJECT_SOURCE_DIR}/kernels/cuda/matmul_form.cpp
                LIBRARIES relucent_base CUDA::cudart_static CUDA::cublasLt)
  add_dependencies(cuda_real_library relucent_cuda)
  set_target_properties(cuda_real_library PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(cuda_real_library PRIVATE ${CMAKE_DL_LIBS})
  target_link_options(cuda_real_library PRIVATE LINKER:--wrap=cudaGetDriverEntryPoint
                                                LINKER:--wrap=cudaGetDriverEntryPointByVersion)
  set(stub libcuda.so)
  if(TARGET CUDA::cuda_driver)
    get_target_property(stub CUDA::cuda_driver IMPORTED_LOCATION)
  endif()
  target_compile_definitions(cuda_real_library PRIVATE RELUCENT_CUDA_MODULE_BUILT="$<TARGET_FILE:relucent_cuda>"
                                                       RELUCENT_CUDA_STUB="${stub}")
  set_tests_properties(cuda_real_library PROPERTIES FAIL_REGULAR_EXPRESSION "SKIPPED;\\] 0 tests")
elseif(NOT RELUCENT_SANITIZE)
  add_test(NAME cuda_real_library
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cuda/no_toolkit.sh "${RELUCENT_NO_CUDA_REASON}")
  set_tests_properties(cuda_real_library PROPERTIES LABELS "unit;cuda;kernels" SKIP_REGULAR_EXPRESSION "^SKIPPED:")
endif()
