#define RELUCENT_LEVEL avx_vnni_emulated
#define RELUCENT_LANES 8
#define RELUCENT_REGISTERS 16
#define RELUCENT_INT8 2
#include "kernels/cpu/vector_kernels.inl"
