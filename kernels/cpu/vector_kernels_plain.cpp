#define RELUCENT_LEVEL plain
#define RELUCENT_LANES 4
#define RELUCENT_REGISTERS 16
#include "kernels/cpu/vector_kernels.inl"
