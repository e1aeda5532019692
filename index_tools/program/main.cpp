#include "index_tools/program/program.h"

int main(int argc, char** argv) { return relucent::program::run_program(argc, argv); }
