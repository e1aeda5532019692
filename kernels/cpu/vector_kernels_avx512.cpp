#define RELUCENT_LEVEL avx512
#define RELUCENT_LANES 16
#define RELUCENT_REGISTERS 32
#include "kernels/cpu/vector_kernels.inl"
