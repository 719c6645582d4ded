#include "lact/cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <system_error>

#include "lact/base/log.h"

namespace lact::cli {

namespace {

/// Where a standard stream is closed, the next file that is opened would take its number, and results or
/// messages would go into that file. What is put in its place can be neither read nor written.
void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one: those below are open by now.
    open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int output_lost(int error) {
  std::cout.exceptions(std::ios::goodbit);
  // A reader that has gone, where the caller has switched the signal off that usually ends us.
  if (error == EPIPE) return 128 + SIGPIPE;
  log::error("the results cannot be written to stdout: {}", std::generic_category().message(error));
  return 1;
}

}  // namespace

int with_checked_output(const std::function<int()>& program) {
  hold_standard_streams();
  std::cout.exceptions(std::ios::badbit);
  try {
    const int exit_code = program();
    errno = 0;
    std::cout.flush();
    std::cout.exceptions(std::ios::goodbit);
    return exit_code;
  } catch (const std::ios_base::failure&) {
    return output_lost(errno == 0 ? EIO : errno);
  }
}

}  // namespace lact::cli
