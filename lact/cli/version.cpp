#include <fmt/format.h>
#include <torch/version.h>

#include "lact/base/threads.h"
#include "lact/base/version.h"
#include "lact/cli/verbs.h"

namespace lact::cli {

std::string version_text() {
  return fmt::format("lact {}\nLibTorch {}\nBLAS: {}\nCPU: {}\nthreads: {}\n", version(), TORCH_VERSION,
                     blas_name(), cpu_capability(), threads_in_use());
}

}  // namespace lact::cli
