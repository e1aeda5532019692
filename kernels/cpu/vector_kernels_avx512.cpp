#define RELUCENT_LEVEL avx512
#define RELUCENT_LANES 16
#define RELUCENT_REGISTERS 32
#define RELUCENT_BF16 0
#define RELUCENT_INT8 0
#define RELUCENT_MATRIX 0
#define RELUCENT_AMX 0
#include "kernels/cpu/vector_kernels.inl"
