#include "lact/base/signal_inbox.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "lact/base/error.h"

namespace lact {

namespace {

std::atomic<int> inbox_pipe = -1;

extern "C" void put_into_inbox(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const char bytes[2] = {char(signal), char(info->si_code == SI_KERNEL)};
  // Where the pipe is full, thousands wait already.
  [[maybe_unused]] const ssize_t written = write(inbox_pipe, bytes, sizeof(bytes));
  errno = error;
}

int milliseconds_until(SignalInbox::Clock::time_point time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - SignalInbox::Clock::now()).count();
  return int(std::clamp<int64_t>(left, 0, 1'000'000'000));
}

}  // namespace

SignalInbox::SignalInbox(const std::vector<int>& signals) {
  LACT_CHECK(pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe cannot be made: {}",
             std::generic_category().message(errno));
  inbox_pipe = ends_[1];
  struct sigaction put = {};
  put.sa_sigaction = put_into_inbox;
  put.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&put.sa_mask);  // one after the other: two bytes each, in the order of arrival
  for (const int signal : signals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN && signal == SIGHUP) continue;
    sigaction(signal, &put, nullptr);
    before_.emplace_back(signal, before);
  }
}

SignalInbox::~SignalInbox() {
  for (const auto& [signal, before] : before_) sigaction(signal, &before, nullptr);
  inbox_pipe = -1;
  for (const int end : ends_) close(end);
}

std::vector<SignalInbox::Message> SignalInbox::wait(std::optional<Clock::time_point> until) {
  pollfd end = {.fd = ends_[0], .events = POLLIN, .revents = 0};
  while (poll(&end, 1, until ? milliseconds_until(*until) : -1) < 0 && errno == EINTR) {
  }
  std::vector<Message> messages;
  char bytes[2];
  while (read(ends_[0], bytes, sizeof(bytes)) == ssize_t(sizeof(bytes))) {
    messages.push_back({.signal = bytes[0], .from_terminal = bytes[1] != 0});
  }
  return messages;
}

}  // namespace lact
