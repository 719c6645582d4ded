#include "lact/base/interrupt.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace lact {
namespace {

volatile std::sig_atomic_t heard = 0;
void host_handler(int) { heard = heard + 1; }

TEST(InterruptTest, NotesASignalAndGivesTheHostItsHandlersBack) {
  struct sigaction host = {}, before[2], found = {};
  host.sa_handler = host_handler;
  sigaddset(&host.sa_mask, SIGUSR2);
  host.sa_flags = SA_NODEFER;
  sigaction(SIGINT, &host, &before[0]);
  sigaction(SIGTERM, &host, &before[1]);
  for (const int signal : {SIGINT, SIGTERM}) {
    {
      const Interrupt interrupt;
      EXPECT_FALSE(interrupt.requested());
      std::raise(signal);
      EXPECT_TRUE(interrupt.requested());
    }
    EXPECT_EQ(heard, 0);
    sigaction(signal, nullptr, &found);
    EXPECT_EQ(found.sa_handler, host_handler);
    EXPECT_EQ(sigismember(&found.sa_mask, SIGUSR2), 1);
    EXPECT_TRUE((found.sa_flags & SA_NODEFER) != 0);
    std::raise(signal);
    EXPECT_EQ(heard, 1);
    heard = 0;
  }
  sigaction(SIGINT, &before[0], nullptr);
  sigaction(SIGTERM, &before[1], nullptr);
}

/// How a process ends that is sent SIGTERM, and SIGTERM again so much later.
int status_after_two(useconds_t apart) {
  const pid_t child = fork();
  if (child == 0) {
    const Interrupt interrupt;
    std::raise(SIGTERM);
    if (!interrupt.requested()) _exit(1);
    usleep(apart);
    std::raise(SIGTERM);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(InterruptTest, TheSecondSignalEndsTheProgram) {
  const int status = status_after_two(1'100'000);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(InterruptTest, OneRequestThatArrivesTwiceIsOneRequest) {
  const int status = status_after_two(1000);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

}  // namespace
}  // namespace lact
