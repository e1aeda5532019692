# Tests of the room `kernels`. They also look behind the public interface: the vector kernels.
function(relucent_kernels_test name)
  relucent_test(${name} ${ARGN} LIBRARIES relucent_kernels)
endfunction()

relucent_kernels_test(kernels_agreement LABELS property kernels SOURCES kernels/agreement_property.cpp)
# By hand, or by ./test.sh --long differential, 100,000 plans.
relucent_kernels_test(kernels_random_plans LABELS property kernels SOURCES kernels/random_plans_property.cpp)
relucent_kernels_test(kernels_determinism LABELS property kernels SOURCES kernels/determinism_property.cpp)
if(RELUCENT_SANITIZE)
  # Forms of other levels whose code is a template that the sanitizers watch in another precision or on another level.
  set_property(TEST kernels_agreement APPEND PROPERTY ENVIRONMENT
               "GTEST_FILTER=-*/amx_emulated_fp32:*/plain_bf16:*/avx2_bf16")
  # A hundred repeats on the slowest level take minutes; the sanitizers watch that level in kernels_agreement.
  set_property(TEST kernels_determinism APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-*/plain_*")
endif()
relucent_kernels_test(kernels_exchanges LABELS property kernels SOURCES kernels/exchanges_property.cpp)
relucent_kernels_test(kernels_mix_encoder LABELS property kernels SOURCES kernels/mix_encoder_property.cpp)
relucent_kernels_test(kernels_soak LABELS property kernels SOURCES kernels/soak_property.cpp)
relucent_kernels_test(kernels_tests LABELS unit fault threads kernels
  SOURCES kernels/attention_time_unit.cpp kernels/description_unit.cpp kernels/levels_unit.cpp kernels/plan_unit.cpp
          kernels/product_unit.cpp kernels/schedule_unit.cpp kernels/vector_unit.cpp
          kernels/backend_fault.cpp kernels/threads_fault.cpp kernels/max_sim_property.cpp)
# What the compiler made of instructions that this machine may not have. Sanitizers add instructions of their own.
if(NOT RELUCENT_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_test(NAME kernels_instructions COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/kernels/cpu/instructions.py
           $<TARGET_OBJECTS:relucent_kernels> COMMAND_EXPAND_LISTS)
  set_tests_properties(kernels_instructions PROPERTIES LABELS "unit;kernels" SKIP_REGULAR_EXPRESSION "SKIPPED:")
endif()
relucent_threads_test(kernels_threads kernels_determinism *Thread*avx2*:*Caller*avx2*:*AtOnce*avx2*)
relucent_threads_test(kernels_mix_encoder_threads kernels_mix_encoder *Bits*avx2*)
