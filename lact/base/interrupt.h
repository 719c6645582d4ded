// Ctrl-C (SIGINT) or SIGTERM asks for a clean stop; the second one ends the program at once.
#pragma once

namespace lact {

/// While it lives, signals are noted instead of ending the program.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;
};

}  // namespace lact
