// Another program that reads or writes a stream of bytes for us. No shell is involved: its arguments are
// words, whatever they hold.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace lact::io {

/// For one thread. A program that has not ended when the object goes is killed, with all that it started.
class ChildProcess {
 public:
  enum class Direction { we_write, we_read };

  explicit ChildProcess(Direction direction) : direction_(direction) {}
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  struct Surroundings {
    std::string folder = {};  ///< to run in; "": ours
    int input = -1;           ///< file that a program we read from finds as its standard input; -1: nothing
  };

  /// Starts words[0], looked for in PATH, with the other words as its arguments; once. Gives 0, or the errno
  /// of what went wrong: ENOENT where there is no such program.
  int start(std::vector<std::string> words, const Surroundings& surroundings);
  int start(std::vector<std::string> words) { return start(std::move(words), {}); }
  bool running() const { return process_ > 0; }

  /// False if the program takes no more.
  bool write(const void* bytes, size_t count);
  /// Fills the buffer; fewer bytes only at the end of what the program writes.
  size_t read(void* bytes, size_t count);

  /// Whether there is something to read, or the end of it; waits so long for it.
  bool has_output(std::chrono::milliseconds wait) const;

  /// Ends the stream and waits for the program. True if it says that all went well.
  bool finish();

  /// The beginning of what it complained of, as one line.
  std::string first_complaints() const;
  /// The last line of that.
  std::string last_complaint() const;

 private:
  void forget_old_complaints();
  void end_stream();
  int wait_for_end();

  Direction direction_;
  int stream_ = -1;
  int messages_ = -1;  // file in memory: what the program complains of
  int process_ = -1;
};

}  // namespace lact::io
