// Stands for a library of CUDA that is not installed.
extern "C" __attribute__((visibility("default"))) int relucent_not_there() { return 0; }
