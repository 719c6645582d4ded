// Which process of how many this is, as launchers say it: `lact launch` and torchrun, mpirun (Open MPI,
// MPICH, Intel MPI) and Slurm's srun, by the variables that each of them sets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lact::parallel {

struct Environment {
  int64_t rank = 0, world = 1;              ///< among all processes
  int64_t local_rank = 0, local_world = 1;  ///< among those of this machine
  std::string address = "127.0.0.1";        ///< of the machine of rank 0, where all meet
  int64_t port = 0;                         ///< 0: not known, and not needed by a world of one

  /// Whether there are other processes to meet.
  bool launched() const { return world > 1; }
  bool operator==(const Environment&) const = default;
};

/// The value of a variable by its name; nullptr where there is none. An empty one counts as none.
using Variables = std::function<const char*(const char* name)>;

/// What the variables say; a world of one where they say nothing. Where several launchers speak (mpirun
/// inside a Slurm job), the innermost counts. What is partial or contradictory is one sentence that names the
/// variable.
Environment environment_of(const Variables& variables);

/// The same of the variables of this process.
Environment environment_of_process();

/// What a launcher sets for a process, like "RANK=2": torchrun's names.
std::vector<std::string> variables_of(const Environment& environment);

}  // namespace lact::parallel
