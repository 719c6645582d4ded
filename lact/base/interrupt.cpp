#include "lact/base/interrupt.h"

#include <atomic>
#include <csignal>

namespace lact {

namespace {

std::atomic<bool> interrupt_noted = false;

extern "C" void note_interrupt(int signal) {
  interrupt_noted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  interrupt_noted = false;
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::requested() const { return interrupt_noted; }

}  // namespace lact
