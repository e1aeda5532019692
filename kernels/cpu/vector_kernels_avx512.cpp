#define RELUCENT_LEVEL avx512
#define RELUCENT_LANES 16
#include "cpu/vector_kernels.inl"
