#include "lact/cli/program.h"

int main(int argc, char** argv) { return lact::cli::run_program(argc, argv); }
