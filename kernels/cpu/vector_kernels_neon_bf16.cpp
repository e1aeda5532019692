#define RELUCENT_LEVEL neon_bf16
#define RELUCENT_LANES 4
#define RELUCENT_REGISTERS 32
#define RELUCENT_BF16 1
#define RELUCENT_INT8 1
#define RELUCENT_MATRIX 1
#include "kernels/cpu/vector_kernels.inl"
