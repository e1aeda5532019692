#define RELUCENT_LEVEL neon
#define RELUCENT_LANES 4
#define RELUCENT_REGISTERS 32
#include "kernels/cpu/vector_kernels.inl"
