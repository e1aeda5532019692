#define RELUCENT_LEVEL amx_emulated
#define RELUCENT_LANES 16
#define RELUCENT_REGISTERS 32
#define RELUCENT_AMX 2
#include "kernels/cpu/vector_kernels.inl"
