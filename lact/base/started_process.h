// A process that this one has started, watches over and outlives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lact {

struct ProcessCommand {
  std::string program;                      ///< a file; nothing is looked for in PATH
  std::vector<std::string> words;           ///< with the program's name as the first
  std::vector<std::string> variables = {};  ///< like "RANK=2", in addition to ours or in their place
  std::string log = {};                     ///< file that its stdout and stderr are appended to; "": ours
  std::string output = {};                  ///< with a log: file for its stdout alone, begun anew
};

/// For one thread, which has to live as long: the kernel kills the process when that thread ends, however it
/// ends, so that nothing is left running by itself.
class StartedProcess {
 public:
  /// Starts it. With a log it reads nothing; without one it has our stdin, stdout and stderr. It belongs to
  /// our process group, so that the terminal's Ctrl-C and Ctrl-Z reach it as they reach us.
  explicit StartedProcess(const ProcessCommand& command);
  /// One that still runs is killed.
  ~StartedProcess();
  StartedProcess(const StartedProcess&) = delete;
  StartedProcess& operator=(const StartedProcess&) = delete;

  /// Asks the system; true once and for all when the process is no more.
  bool has_ended();
  /// Nothing where it has ended.
  void send(int signal) const;

  // Of one that has ended.
  /// As shells give it: 128 + the number of a signal that killed it.
  int exit_code() const;
  /// "ended with exit code 3", "was killed by signal 9 (Killed)".
  std::string ending() const;
  /// The last line that it wrote to its log; "" if there is none.
  std::string last_words() const;

 private:
  std::string log_;
  int64_t log_begin_ = 0;  // bytes of earlier processes
  pid_t process_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace lact
