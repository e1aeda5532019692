# The CUDA backend through the tests of every backend: on the emulator, and once more on a GPU where there is one.

# librelucent_cuda.so as it runs on the emulator.
if(RELUCENT_CUDA_EMULATOR)
  get_property(sources GLOBAL PROPERTY RELUCENT_CUDA_SOURCES)
  get_property(includes GLOBAL PROPERTY RELUCENT_CUDA_INCLUDES)
  relucent_emulated_cuda(relucent_cuda_emulated ${sources})
  target_include_directories(relucent_cuda_emulated PRIVATE ${includes})
  target_compile_definitions(relucent_cuda_emulated PRIVATE RELUCENT_VERSION="${PROJECT_VERSION}")
endif()

if(RELUCENT_CUDA_EMULATION AND NOT RELUCENT_CUDA_EMULATOR AND NOT RELUCENT_SANITIZE)
  add_test(NAME cuda_emulated COMMAND ${CMAKE_COMMAND} -E echo
           "SKIPPED: the CUDA emulator needs GCC on x86-64, libboost-context-dev and libdnnl-dev")
  set_tests_properties(cuda_emulated PROPERTIES LABELS "cuda" SKIP_REGULAR_EXPRESSION "SKIPPED:")
endif()

# Programs whose tests need a device: where it is required, a run of no test fails (support/required_device.h).
add_library(required_device OBJECT support/required_device.cpp)
relucent_target(required_device)
target_include_directories(required_device PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(required_device PUBLIC relucent_base GTest::gtest)

# relucent_cuda_runs(NAME PROGRAM MEMORY EMULATED_FILTER GPU_FILTER [FOLDER...]): NAME_emulated, on a GPU of so much
# memory, and NAME_gpu, which is skipped on a machine without a GPU or without these golden answers and data.
function(relucent_cuda_runs name program memory emulated_filter gpu_filter)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  if(NOT required_device IN_LIST libraries)
    target_link_libraries(${program} PRIVATE required_device)
  endif()
  if(TARGET relucent_cuda_emulated)
    add_test(NAME ${name}_emulated COMMAND ${program} --gtest_filter=${emulated_filter}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(environment RELUCENT_TEST_DEVICE=cuda:0 RELUCENT_CUDA_MODULE=$<TARGET_FILE:relucent_cuda_emulated>
                    RELUCENT_CUDA_EMULATOR=memory=${memory})
    set_tests_properties(${name}_emulated PROPERTIES LABELS "cuda" TIMEOUT 1800 ENVIRONMENT "${environment}")
    add_dependencies(${program} relucent_cuda_emulated)
  endif()
  if(TARGET relucent_cuda)
    list(TRANSFORM ARGN PREPEND "--needs;" OUTPUT_VARIABLE needs)
    add_test(NAME ${name}_gpu COMMAND ${PROJECT_SOURCE_DIR}/tests/cuda/on_gpu.sh ${needs} -- $<TARGET_FILE:${program}>
             --gtest_filter=${gpu_filter}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name}_gpu PROPERTIES LABELS "cuda;gpu" TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT
      "RELUCENT_TEST_DEVICE=cuda:0;RELUCENT_CUDA_MODULE=$<TARGET_FILE:relucent_cuda>")
    add_dependencies(${program} relucent_cuda)
  endif()
endfunction()

# The emulator knows no time, so deadlines are not for it; and tf32 runs the kernels of fp32, its slowest.
set(as_fp32 "*Sets*tf32:*Sets*bf16:*LateInter*tf32:*LateInter*bf16:*PerText*tf32:*PerText*bf16")
# Without a position table an input may be long, and the smallest workspace needs more memory.
set(long "*OneToken*:*StatesAreLarge*:*T5*")
relucent_cuda_runs(cuda_agreement kernels_agreement 24M *AgreesWith*-*EveryCombination*tf32:*Wide*:${as_fp32}:${long}
                   *AgreesWith*-*Wide*:${long})
relucent_cuda_runs(cuda_decoder kernels_agreement 256M ${long}-*tf32:*T5*bf16 ${long})
relucent_cuda_runs(cuda_wide kernels_agreement 1G *AgreesWith*Wide* *AgreesWith*Wide*)
relucent_cuda_runs(cuda_determinism kernels_determinism 16M *SameBits*-*Deadline*:*NumberOfThreads*:*tf32:*ADecoder*
                   *SameBits*-*NumberOfThreads*:*ADecoder*)
relucent_cuda_runs(cuda_decoder_determinism kernels_determinism 256M *SameBits*ADecoder*-*tf32 *SameBits*ADecoder*)
relucent_cuda_runs(cuda_random_plans kernels_random_plans 64M * *)
relucent_cuda_runs(cuda_soak kernels_soak 256M *Soak*16 *Soak*)
# These encoders are too narrow for bf16 (cuda_backend.cpp): it would be tf32 once more.
relucent_cuda_runs(cuda_sparse_golden model_golden 2G *SparseGolden*cuda*-*bf16 *SparseGolden*cuda*)
relucent_cuda_runs(cuda_families_golden model_golden 2G *FamiliesGolden*cuda*-*bf16:*tf32 *FamiliesGolden*cuda*)
relucent_cuda_runs(cuda_queries_golden model_queries_golden 256M *cuda* *cuda*)
relucent_cuda_runs(cuda_rerankers_golden model_rerankers_golden 256M *cuda*-*set_encoder_c*fp32 *cuda*)
relucent_cuda_runs(cuda_late_interaction_golden model_late_interaction_golden 256M
                   *cuda*fp16:*stanford*cuda*fp32 *cuda*)
relucent_cuda_runs(cuda_embedding_golden model_embedding_golden 256M *cuda*fp16:*dense*cuda*fp32 *cuda*)
relucent_cuda_runs(cuda_deformer_golden model_deformer_golden 256M *cuda*-*bf16:*tf32 *cuda*)
relucent_cuda_runs(cuda_mix_encoder kernels_mix_encoder 16M *Mix*-*tf32:*OtherForms* *Mix*)
relucent_cuda_runs(cuda_exchanges kernels_exchanges 16M *Exchanges*-*tf32 *Exchanges*)
relucent_cuda_runs(cuda_mixencoder_golden model_mixencoder_golden 256M *cuda*-*bf16:*tf32 *cuda* mixencoder)
relucent_cuda_runs(cuda_mir_golden model_mir 256M *cuda*-*bf16:*tf32 *cuda* mir)
relucent_cuda_runs(cuda_trained_golden model_trained_golden 1G *Cuda* *Cuda* trained-v2 candidates)

# Kernels broken on purpose; `./test.sh --long mutants` runs all of them.
if(TARGET relucent_cuda_emulated)
  add_custom_target(cuda_mutant_programs
    DEPENDS relucent_cuda_emulated kernels_agreement kernels_exchanges kernels_mix_encoder)
  set_target_properties(relucent_cuda_emulated PROPERTIES EXPORT_COMPILE_COMMANDS ON)
  add_test(NAME cuda_mutants COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/kernels/emulator/mutants.py
           ${PROJECT_BINARY_DIR} --quick)
  set_tests_properties(cuda_mutants PROPERTIES LABELS "property;cuda" TIMEOUT 900)
endif()

if(TARGET relucent_cuda)
  relucent_test(kernels_host_contexts LABELS property cuda gpu kernels
                SOURCES kernels/host_contexts_property.cpp
                LIBRARIES relucent_kernels required_device)
  target_link_libraries(kernels_host_contexts PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(kernels_host_contexts relucent_cuda)
  target_compile_definitions(kernels_host_contexts PRIVATE RELUCENT_CUDA_MODULE_BUILT="$<TARGET_FILE:relucent_cuda>")
  set_tests_properties(kernels_host_contexts PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  PASSED  \\] 0 tests")
endif()
if(TARGET relucent_cuda_emulated)
  relucent_test(cuda_failures LABELS fault cuda kernels SOURCES kernels/cuda_failures_fault.cpp
                LIBRARIES relucent_kernels relucent_cuda_emulator)
  add_dependencies(cuda_failures relucent_cuda_emulated)
  target_compile_definitions(cuda_failures PRIVATE RELUCENT_CUDA_EMULATED="$<TARGET_FILE:relucent_cuda_emulated>")
  relucent_test(cuda_launch_graphs LABELS unit cuda kernels SOURCES kernels/launch_graphs_unit.cpp
                LIBRARIES relucent_kernels relucent_cuda_emulator)
  add_dependencies(cuda_launch_graphs relucent_cuda_emulated)
  target_compile_definitions(cuda_launch_graphs PRIVATE
    RELUCENT_CUDA_EMULATED="$<TARGET_FILE:relucent_cuda_emulated>")
endif()

# A device that is required fails its tests where it is not there.
if(NOT RELUCENT_SANITIZE)
  add_test(NAME cuda_required_device COMMAND ${PROJECT_SOURCE_DIR}/tests/cuda/required_device_test.sh
           ${PROJECT_BINARY_DIR}/tests WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(cuda_required_device PROPERTIES LABELS "fault;cuda")
endif()
