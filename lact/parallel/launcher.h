// Starts the processes of a job on this machine, watches over them, and ends them together: a job with a dead
// rank can only wait.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lact::parallel {

/// Set for every process that launch() starts: how often the job has been started again.
inline constexpr const char* kRestartVariable = "LACT_RESTART";

struct LaunchOptions {
  int64_t processes = 1;        ///< on this machine
  int64_t nodes = 1, node = 0;  ///< machines that run a launcher each, and which of them this is
  std::string address;          ///< of machine 0; "": this one
  int64_t port = 0;             ///< 0: a free one, for one machine. Each restart takes the next
  int64_t threads = 0;          ///< of each process; 0: as OMP_NUM_THREADS says, else a share of the cores
  int64_t restarts = 0;         ///< so often the job is started again after a failure
  double grace = 10;            ///< seconds that the others get when one has failed, before SIGTERM, and
                                ///< again before SIGKILL
  std::string log_folder;       ///< "": a temporary one, removed when all went well
  std::string program = "/proc/self/exe";

  /// Throws one sentence for what cannot work.
  void check() const;
};

/// A port that nobody listens on. Somebody may take it before rank 0 does: that is what restarts are for.
int64_t free_port();

/// The words of the program, its name first, when it is started for the first time (0), again (1), ...
using LaunchWords = std::function<std::vector<std::string>(int64_t restart)>;

/// Runs the job to its end. Rank 0 has our stdin, stdout and stderr; every other rank writes to
/// rank_<rank>.log in the log folder. SIGINT, SIGTERM and SIGHUP are passed on.
///
/// Gives 0 if all ranks did, else the exit code of the first that failed, 128 + signal for one that was
/// killed. Exit code 2, a mistake of the caller, is not tried again, nor is a job that was asked to stop.
int launch(const LaunchOptions& options, const LaunchWords& words);

}  // namespace lact::parallel
