#define RELUCENT_LEVEL avx2
#define RELUCENT_LANES 8
#include "cpu/vector_kernels.inl"
