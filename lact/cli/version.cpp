#include <fmt/format.h>
#include <torch/version.h>

#include "lact/base/threads.h"
#include "lact/base/version.h"
#include "lact/cli/verbs.h"
#include "lact/kernels/isa.h"

namespace lact::cli {

std::string version_text() {
  const std::string blas = blas_name();
  // Less than the processor has, where LACT_ISA asks for it.
  const auto isa = kernels::isa(), best = kernels::best_isa();
  return fmt::format(
      "lact {}\nLibTorch {} ({})\nBLAS: {}{}\nCPU: kernels for {}{}\nthreads: {}\n", version(), TORCH_VERSION,
      libtorch_capability(), blas, blas.starts_with("OpenBLAS") ? ", " + openblas_core() : "",
      kernels::isa_name(isa),
      isa == best ? "" : fmt::format(", by LACT_ISA; this one has {}", kernels::isa_name(best)),
      threads_in_use());
}

}  // namespace lact::cli
