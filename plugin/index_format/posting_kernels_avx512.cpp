#include <immintrin.h>

#define RELUCENT_LEVEL avx512
#define RELUCENT_VBMI2 1
#include "plugin/index_format/posting_kernels.inl"
