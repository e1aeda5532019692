// Nothing: the program whose precompiled headers the others use.
int main() {}
