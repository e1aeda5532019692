#define RELUCENT_LEVEL amx
#define RELUCENT_LANES 16
#define RELUCENT_REGISTERS 32
#define RELUCENT_BF16 1
#define RELUCENT_INT8 1
#define RELUCENT_AMX 1
#include "kernels/cpu/vector_kernels.inl"
