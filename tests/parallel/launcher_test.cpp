// What becomes of a job whose ranks end in all possible ways. The ranks are shells: a script can misbehave as
// no verb of ours does.
#include "lact/parallel/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "lact/base/error.h"
#include "lact/base/threads.h"
#include "support/temporary_folder.h"

namespace lact::parallel {
namespace {

using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::Not;

/// Waits for what another process does.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return condition();
}

bool is_alive(pid_t process) {
  // A zombie whose parent has not asked for it yet has ended as well.
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return bool(file >> number >> name >> state) && state != "Z";
}

class LauncherOfShells : public ::testing::Test {
 protected:
  LauncherOfShells() {
    options_.program = "/bin/sh";
    options_.log_folder = folder_ / "logs";
    options_.processes = 3;
    options_.grace = 20;
  }

  /// Every rank runs the script, in which $folder is the test's.
  int run(const std::string& script) const {
    return launch(options_, [&](int64_t) {
      return std::vector<std::string>{"sh", "-c", "folder='" + folder_ / "" + "'; " + script};
    });
  }

  /// The same, and what the launcher says.
  int run(const std::string& script, std::string& messages) const {
    ::testing::internal::CaptureStderr();
    const int exit_code = run(script);
    messages = ::testing::internal::GetCapturedStderr();
    return exit_code;
  }

  /// A launcher in a process of its own.
  pid_t start(const std::string& script) const {
    const pid_t launcher = fork();
    if (launcher == 0) _exit(run(script));
    return launcher;
  }

  std::string log(int rank) const {
    return read_file(folder_ / "logs/rank_" + std::to_string(rank) + ".log");
  }

  /// The processes that wrote their number to $folder/pid_<rank>.
  std::vector<pid_t> processes() const {
    std::vector<pid_t> result;
    for (int rank = 0; rank < options_.processes; ++rank) {
      std::istringstream file(read_file(folder_ / "pid_" + std::to_string(rank)));
      if (pid_t process = 0; file >> process) result.push_back(process);
    }
    return result;
  }
  bool all_have_started() const { return int64_t(processes().size()) == options_.processes; }

  static int exit_code_of(pid_t process) {
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  TemporaryFolder folder_;
  LaunchOptions options_;
};

const std::string kTellNumber = "echo $$ > $folder/new_$RANK; mv $folder/new_$RANK $folder/pid_$RANK; ";

TEST_F(LauncherOfShells, EveryRankKnowsItsPlace) {
  const std::string script =
      "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $LACT_RESTART "
      "> $folder/$RANK";
  EXPECT_EQ(run(script), 0);
  std::set<std::string> ports;
  for (int rank = 0; rank < 3; ++rank) {
    std::istringstream words(read_file(folder_ / std::to_string(rank)));
    std::string own, world, local, local_world, address, port, restart;
    words >> own >> world >> local >> local_world >> address >> port >> restart;
    EXPECT_EQ(own + world + local + local_world + address + restart,
              std::to_string(rank) + "3" + std::to_string(rank) + "3127.0.0.10");
    EXPECT_GT(std::stoi(port), 1023);
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 1U);
}

TEST_F(LauncherOfShells, NodesShareOneWorld) {
  options_.nodes = 2;
  options_.node = 1;
  EXPECT_THAT(lact::testing::sentence_of<Error>([&] { run("true"); }), HasSubstr("--address and --port"));
  options_.address = "10.0.0.1";
  options_.port = 29500;
  EXPECT_EQ(
      run("echo $RANK of $WORLD_SIZE, here $LOCAL_RANK of $LOCAL_WORLD_SIZE, $MASTER_ADDR:$MASTER_PORT"), 0);
  EXPECT_EQ(log(3), "3 of 6, here 0 of 3, 10.0.0.1:29500\n") << "only rank 0 of all writes to the terminal";
  EXPECT_EQ(log(5), "5 of 6, here 2 of 3, 10.0.0.1:29500\n");
  options_.node = 2;
  EXPECT_THAT(lact::testing::sentence_of<Error>([&] { run("true"); }),
              HasSubstr("--node is 2, expected 0 to 1"));
}

TEST_F(LauncherOfShells, CoresAreSharedOutUnlessSomebodyKnowsBetter) {
  const char* const set = getenv("OMP_NUM_THREADS");
  const std::string before = set == nullptr ? "" : set;
  unsetenv("OMP_NUM_THREADS");
  run("echo $OMP_NUM_THREADS");
  EXPECT_EQ(log(1), std::to_string(std::max(1, available_cores() / 3)) + "\n");
  setenv("OMP_NUM_THREADS", "7", 1);
  run("echo $OMP_NUM_THREADS");
  EXPECT_EQ(log(1), "7\n");
  options_.threads = 5;
  run("echo $OMP_NUM_THREADS");
  EXPECT_EQ(log(1), "5\n");
  set == nullptr ? unsetenv("OMP_NUM_THREADS") : setenv("OMP_NUM_THREADS", before.c_str(), 1);
}

TEST_F(LauncherOfShells, AFailureNamesTheRankItsEndAndItsLastLine) {
  std::string messages;
  EXPECT_EQ(run("[ $RANK = 2 ] || exit 0; echo first; echo '  the  last' >&2; exit 3", messages), 3);
  EXPECT_THAT(messages, HasSubstr("rank 2 ended with exit code 3; its log ends with: the last"));
  EXPECT_EQ(log(2), "first\n  the  last\n");
  EXPECT_EQ(run("[ $RANK = 1 ] && kill -9 $$; exit 0", messages), 128 + 9);
  EXPECT_THAT(messages, HasSubstr("rank 1 was killed by signal 9 (Killed)"));
  EXPECT_EQ(log(2), "") << "a log begins anew with each job";
}

TEST_F(LauncherOfShells, TheFirstFailureCountsNotWhatFollowsFromIt) {
  std::string messages;
  EXPECT_EQ(run("if [ $RANK = 1 ]; then touch $folder/dead; exit 7; fi; "
                "while [ ! -e $folder/dead ]; do sleep 0.01; done; sleep 0.3; exit 5",
                messages),
            7);
  EXPECT_THAT(messages, HasSubstr("rank 1 ended with exit code 7; the others have 20 s to end"));
  EXPECT_THAT(messages, Not(HasSubstr("code 5")));
}

TEST_F(LauncherOfShells, TheOthersAreEndedByForceInTheEnd) {
  options_.grace = 0.2;
  // Rank 0 listens to SIGTERM, rank 1 to nothing.
  EXPECT_EQ(
      run(kTellNumber +
          "case $RANK in 0) trap 'touch $folder/asked; exit 0' TERM;; 1) trap '' TERM;; "
          "2) while [ ! -e $folder/pid_0 ] || [ ! -e $folder/pid_1 ]; do sleep 0.01; done; exit 4;; esac; "
          "while true; do sleep 0.05; done"),
      4);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "asked"));
  for (const pid_t process : processes()) EXPECT_FALSE(is_alive(process));
}

TEST_F(LauncherOfShells, AFailedJobIsStartedAgainOnAnotherPort) {
  options_.restarts = 3;
  options_.port = 29500;
  std::string messages;
  EXPECT_EQ(run("echo $LACT_RESTART $MASTER_PORT; [ $RANK = 1 ] && [ $LACT_RESTART -lt 2 ] && exit 1; exit 0",
                messages),
            0);
  EXPECT_EQ(log(1), "0 29500\n1 29501\n2 29502\n");
  EXPECT_THAT(messages, HasSubstr("starting all ranks again, 2 of 3 times"));
  EXPECT_THAT(messages, Not(HasSubstr("3 of 3")));
}

TEST_F(LauncherOfShells, RestartsEndSomeTime) {
  options_.restarts = 2;
  EXPECT_EQ(run("echo x; exit 9"), 9);
  EXPECT_EQ(log(1), "x\nx\nx\n");
}

TEST_F(LauncherOfShells, AMistakeIsNotTriedAgain) {
  options_.restarts = 2;
  EXPECT_EQ(run("echo x; [ $RANK = 1 ] && exit 2; exit 0"), 2);
  EXPECT_EQ(log(1), "x\n");
}

TEST_F(LauncherOfShells, ASignalIsPassedOnAndACleanStopWaitedFor) {
  options_.restarts = 5;  // a job that was asked to stop is not started again
  options_.grace = 0;     // and not hurried
  for (const int signal : {SIGTERM, SIGINT}) {
    for (int rank = 0; rank < 3; ++rank) std::filesystem::remove(folder_ / "pid_" + std::to_string(rank));
    const pid_t launcher = start("trap 'sleep 0.3; touch $folder/stopped_$RANK; exit 130' TERM INT; " +
                                 kTellNumber + "while true; do sleep 0.05; done");
    ASSERT_TRUE(comes_true([&] { return all_have_started(); }));
    kill(launcher, signal);
    EXPECT_EQ(exit_code_of(launcher), 130);
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(std::filesystem::remove(folder_ / "stopped_" + std::to_string(rank))) << rank;
    }
  }
}

TEST_F(LauncherOfShells, NothingIsLeftWhenTheLauncherIsKilled) {
  const pid_t launcher = start("trap '' TERM INT HUP; " + kTellNumber + "while true; do sleep 0.05; done");
  ASSERT_TRUE(comes_true([&] { return all_have_started(); }));
  kill(launcher, SIGKILL);
  EXPECT_EQ(exit_code_of(launcher), -SIGKILL);
  for (const pid_t process : processes()) {
    EXPECT_TRUE(comes_true([&] { return !is_alive(process); })) << process;
  }
}

TEST_F(LauncherOfShells, ATemporaryFolderIsKeptOnlyAfterAFailure) {
  options_.log_folder = "";
  std::string messages;
  const auto folder_named_after = [&](const std::string& text) {
    const size_t begin = messages.find(text) + text.size();
    return messages.substr(begin, messages.find('\n', begin) - begin);
  };
  EXPECT_EQ(run("exit 0", messages), 0);
  const std::string gone = folder_named_after("the output of ranks 1 to 2 goes to ");
  EXPECT_THAT(gone, HasSubstr("lact-launch-"));
  EXPECT_FALSE(std::filesystem::exists(gone));
  EXPECT_EQ(run("echo kept; exit 1", messages), 1);
  const std::string kept = folder_named_after("the logs are kept in ");
  EXPECT_EQ(read_file(kept + "/rank_1.log"), "kept\n");
  std::filesystem::remove_all(kept);
}

TEST_F(LauncherOfShells, WhatCannotBeStartedIsOneSentence) {
  options_.program = "/no/such/program";
  EXPECT_EQ(lact::testing::sentence_of<Error>([&] { run("true"); }),
            "/no/such/program cannot be started: No such file or directory");
  options_.log_folder = "/dev/null/logs";
  EXPECT_THAT(lact::testing::sentence_of<Error>([&] { run("true"); }),
              HasSubstr("/dev/null/logs cannot be made"));
}

}  // namespace
}  // namespace lact::parallel
