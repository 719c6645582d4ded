// The processes of a job on this machine, from their start to the end of the last.
#pragma once

#include <signal.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lact/base/signal_inbox.h"
#include "lact/base/started_process.h"

namespace lact::parallel {

/// For one run() in one thread.
class Job {
 public:
  struct Outcome {
    int exit_code = 0;         ///< of the first that failed; else of the first that did not give 0
    bool failed = false;       ///< otherwise than by stopping because it was asked to
    bool interrupted = false;  ///< by a signal that was passed on
  };

  /// Starts a process for each command; the first has rank `first_rank`. The inbox has SIGCHLD and the
  /// signals to pass on; both must outlive the job. `grace`: seconds as in LaunchOptions.
  Job(const std::vector<ProcessCommand>& commands, int64_t first_rank, double grace, SignalInbox& inbox);

  /// Waits for all of them.
  Outcome run();

 private:
  using Time = SignalInbox::Clock::time_point;

  bool any_running() const;
  void take(const SignalInbox::Message& message);
  void look_after_ended();
  bool stopped_as_asked(int exit_code) const;
  void report_failure(size_t index) const;
  void press_on();
  void send_to_all(int signal) const;

  std::vector<std::unique_ptr<StartedProcess>> ranks_;
  std::vector<bool> known_ended_;
  int64_t first_rank_;
  double grace_;
  SignalInbox& inbox_;
  std::vector<int> passed_on_;
  Outcome outcome_;
  int pressure_ = SIGTERM;        // what the others get at the deadline
  std::optional<Time> deadline_;  // by which the others have to have ended, once one has failed
};

}  // namespace lact::parallel
