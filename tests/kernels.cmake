# Tests of the room `kernels`. They also look behind the public interface: the vector kernels, the thread pool.
function(relucent_kernels_test name)
  relucent_test(${name} ${ARGN} LIBRARIES relucent_kernels)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
endfunction()

relucent_kernels_test(kernels_agreement LABELS property kernels SOURCES property/kernels_agreement.cpp)
