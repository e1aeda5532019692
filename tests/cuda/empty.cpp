// A shared object that is no CUDA module.
extern "C" __attribute__((visibility("default"))) int relucent_nothing() { return 0; }
