#define RELUCENT_LEVEL neon_dot
#define RELUCENT_LANES 4
#define RELUCENT_REGISTERS 32
#define RELUCENT_INT8 1
#include "kernels/cpu/vector_kernels.inl"
