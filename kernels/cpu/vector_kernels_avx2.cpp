#define RELUCENT_LEVEL avx2
#define RELUCENT_LANES 8
#define RELUCENT_REGISTERS 16
#include "kernels/cpu/vector_kernels.inl"
