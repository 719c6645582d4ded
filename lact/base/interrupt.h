// Ctrl-C (SIGINT) or SIGTERM asks for a clean stop; a second one, a second or more after the first, ends the
// program at once.
#pragma once

#include <signal.h>

namespace lact {

/// While it lives, signals are noted instead of doing what the program had arranged for them; afterwards they
/// do that again. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;

 private:
  struct sigaction before_[2];  ///< of SIGINT and SIGTERM
};

}  // namespace lact
