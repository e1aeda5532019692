#define RELUCENT_LEVEL plain
#define RELUCENT_VBMI2 0
#include "plugin/index_format/posting_kernels.inl"
