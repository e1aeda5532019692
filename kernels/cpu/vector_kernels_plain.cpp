#define RELUCENT_LEVEL plain
#define RELUCENT_LANES 4
#include "cpu/vector_kernels.inl"
