#include <cstdlib>

#include "lact/cli/program.h"

int main(int argc, char** argv) {
  const int exit_code = lact::cli::run_program(argc, argv);
  // Everything is written and closed. What is left, the destructors of LibTorch and of 280 libraries below
  // it, would take a tenth of a short run.
  std::_Exit(exit_code);
}
