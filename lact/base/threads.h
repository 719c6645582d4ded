// How many processor cores the program uses, and what LibTorch runs on.
#pragma once

#include <string>

namespace lact {

/// Cores this process may run on (its affinity mask, not the machine's size).
int available_cores();

/// Sets LibTorch's threads for work inside one operation; 0 means all available cores.
/// LibTorch comes up with one thread where OMP_NUM_THREADS is unset, so every program calls this first. It
/// also keeps LibTorch off instructions that it is known to crash with.
void use_threads(int count);

int threads_in_use();

/// The file that the loaded sgemm belongs to, links resolved; empty if it is inside the program.
std::string blas_file();

/// "OpenBLAS (openblas-openmp)", "reference BLAS", ...: the library that the loaded sgemm belongs to.
std::string blas_name();

/// The reference BLAS is about 50 times slower than OpenBLAS.
bool blas_is_reference();

/// What OpenBLAS has to be told of this processor, as OPENBLAS_CORETYPE in the environment it starts in,
/// because it took it for one of twenty years ago: versions older than a processor do, and are ten times
/// slower then. Empty if there is nothing to tell.
std::string openblas_core_to_name();

/// "AVX512 + bf16", "AVX2", ...: what this processor offers and LibTorch uses.
std::string cpu_capability();

}  // namespace lact
