#define RELUCENT_LEVEL neon_i8mm
#define RELUCENT_LANES 4
#define RELUCENT_REGISTERS 32
#define RELUCENT_INT8 1
#define RELUCENT_MATRIX 1
#include "kernels/cpu/vector_kernels.inl"
