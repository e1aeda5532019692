#define RELUCENT_LEVEL avx2
#define RELUCENT_VBMI2 0
#include "bm25/posting_kernels.inl"
