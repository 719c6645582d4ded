// How many processor cores the program uses, and what LibTorch runs on.
#pragma once

#include <string>

namespace lact {

/// Cores this process may run on (its affinity mask, not the machine's size).
int available_cores();

/// More threads than this only wait for each other: eight for each core.
int most_threads();

/// Sets LibTorch's threads for work inside one operation; 0 means as many as OMP_NUM_THREADS says, by which
/// launchers share a machine out among processes, and all available cores without it.
/// LibTorch comes up with one thread where OMP_NUM_THREADS is unset, so every program calls this first,
/// before anything is multiplied. It also tells OpenBLAS what processor this is where it does not know, and
/// keeps LibTorch off instructions that it is known to crash with.
void use_threads(int count);

int threads_in_use();

/// The file that the loaded sgemm belongs to, links resolved; empty if it is inside the program.
std::string blas_file();

/// "OpenBLAS (openblas-openmp)", "reference BLAS", ...: the library that the loaded sgemm belongs to.
std::string blas_name();

/// The reference BLAS is about 50 times slower than OpenBLAS.
bool blas_is_reference();

/// What OpenBLAS takes this processor for, such as "SkylakeX"; empty where another BLAS is loaded.
std::string openblas_core();

/// "AVX2", "AVX512", ...: which of its kernels LibTorch chose.
std::string libtorch_capability();

}  // namespace lact
