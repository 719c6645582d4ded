#include "lact/base/interrupt.h"

#include <atomic>

namespace lact {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
std::atomic<bool> interrupt_noted = false;

extern "C" void note_interrupt(int) { interrupt_noted = true; }

}  // namespace

Interrupt::Interrupt() {
  interrupt_noted = false;
  struct sigaction note = {};
  note.sa_handler = note_interrupt;
  note.sa_flags = int(SA_RESTART | SA_RESETHAND);  // the second one ends the program
  sigemptyset(&note.sa_mask);
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &note, &before_[i]);
}

Interrupt::~Interrupt() {
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interrupt::requested() const { return interrupt_noted; }

}  // namespace lact
