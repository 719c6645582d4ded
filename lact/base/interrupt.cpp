#include "lact/base/interrupt.h"

#include <time.h>

#include <atomic>

namespace lact {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
/// A terminal, `timeout` and `lact launch` may each deliver one request to stop: what follows within this
/// time is no second one.
constexpr int64_t kSameRequest = 1'000'000'000;  // nanoseconds
std::atomic<int64_t> interrupt_time = 0;         // 0: none

int64_t nanoseconds_now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);  // a handler may call it
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

extern "C" void note_interrupt(int signal) {
  int64_t first = 0;
  const int64_t now = nanoseconds_now();
  if (interrupt_time.compare_exchange_strong(first, now) || now - first < kSameRequest) return;
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  raise(signal);  // ends the program when the handler has returned
}

}  // namespace

Interrupt::Interrupt() {
  interrupt_time = 0;
  struct sigaction note = {};
  note.sa_handler = note_interrupt;
  note.sa_flags = SA_RESTART;
  sigemptyset(&note.sa_mask);
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &note, &before_[i]);
}

Interrupt::~Interrupt() {
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interrupt::requested() const { return interrupt_time != 0; }

}  // namespace lact
