#define RELUCENT_LEVEL plain
#define RELUCENT_VBMI2 0
#include "plugin/bm25/posting_kernels.inl"
