// The machine that figures were taken on.
#pragma once

#include <string>

#include "lact/base/options.h"
#include "lact/ops/dispatch/limits.h"

namespace lact::bench {

struct Machine {
  std::string cpu, isa, torch, blas;
  int cores = 0;
  double load = 0;  ///< processes that wanted to run during the last minute, others' included
  ops::MachineLimits limits;
  std::string pytorch;  ///< the peer's version; empty if there is none

  /// What shares of peak are shares of: "bf16" or "f32".
  const char* peak_kind() const { return limits.pairs_pay() ? "bf16" : "f32"; }
};

/// What the system calls the processor; "unknown" where it does not say.
std::string cpu_name();

/// `brief`: bandwidths of small buffers.
Machine measure_machine(bool brief);

options::Json to_json(const Machine& machine);
std::string machine_text(const Machine& machine);

}  // namespace lact::bench
