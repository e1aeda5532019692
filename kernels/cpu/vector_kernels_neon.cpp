#define RELUCENT_LEVEL neon
#define RELUCENT_LANES 4
#define RELUCENT_REGISTERS 32
#define RELUCENT_BF16 0
#define RELUCENT_INT8 0
#define RELUCENT_MATRIX 0
#define RELUCENT_AMX 0
#include "kernels/cpu/vector_kernels.inl"
