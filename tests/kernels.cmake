# Tests of the room `kernels`.
