// Signals as messages to wait for, in the middle of ordinary code.
#pragma once

#include <signal.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace lact {

/// While it lives, signals of this process do nothing but arrive here; afterwards they do again what they
/// did. SIGHUP stays ignored where it is (nohup); SIGINT does not: shells ignore it for all that runs in the
/// background. One inbox at a time, read by one thread.
class SignalInbox {
 public:
  using Clock = std::chrono::steady_clock;

  struct Message {
    int signal = 0;
    /// Ctrl-C and the like: the terminal has sent it to all processes of the job.
    bool from_terminal = false;
  };

  explicit SignalInbox(const std::vector<int>& signals);
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  /// All that has arrived, in order; waits for the first until then, or for ever. Empty: the time is over.
  std::vector<Message> wait(std::optional<Clock::time_point> until);

 private:
  int ends_[2] = {-1, -1};  // of a pipe that the handler writes to
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace lact
