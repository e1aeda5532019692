#define RELUCENT_LEVEL avx_vnni
#define RELUCENT_LANES 8
#define RELUCENT_REGISTERS 16
#define RELUCENT_INT8 1
#include "kernels/cpu/vector_kernels.inl"
