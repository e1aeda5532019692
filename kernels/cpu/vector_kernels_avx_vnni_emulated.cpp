#define RELUCENT_LEVEL avx_vnni_emulated
#define RELUCENT_LANES 8
#define RELUCENT_REGISTERS 16
#define RELUCENT_BF16 0
#define RELUCENT_INT8 2
#define RELUCENT_MATRIX 0
#define RELUCENT_AMX 0
#include "kernels/cpu/vector_kernels.inl"
