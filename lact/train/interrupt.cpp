#include "lact/train/interrupt.h"

#include <atomic>
#include <csignal>

namespace lact::train {

namespace {

std::atomic<bool> noted = false;

extern "C" void note(int signal) {
  noted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  noted = false;
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::requested() const { return noted; }

}  // namespace lact::train
