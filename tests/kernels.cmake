# Tests of the room `kernels`. They also look behind the public interface: the vector kernels, the thread pool.
function(relucent_kernels_test name)
  relucent_test(${name} ${ARGN} LIBRARIES relucent_kernels)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
endfunction()

relucent_kernels_test(kernels_agreement LABELS property kernels SOURCES property/kernels_agreement.cpp)
relucent_kernels_test(kernels_determinism LABELS property kernels SOURCES property/kernels_determinism.cpp)
relucent_kernels_test(kernels_soak LABELS property kernels SOURCES property/kernels_soak.cpp)
relucent_kernels_test(kernels_tests LABELS unit fault threads kernels
  SOURCES unit/kernels_product.cpp unit/kernels_thread_pool.cpp unit/kernels_vector.cpp fault/kernels_backend.cpp)
relucent_threads_test(kernels_threads kernels_determinism *Thread*avx2*:*Caller*avx2*:*AtOnce*avx2*)
