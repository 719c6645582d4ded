// Runs steps as processes of this program, as many at a time as the machine has cores for.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/base/signal_inbox.h"
#include "lact/base/started_process.h"
#include "lact/reproduce/resolver.h"
#include "lact/reproduce/step_status.h"

namespace lact::reproduce {

struct RunnerOptions {
  std::string program = "/proc/self/exe";
  std::string machine;  ///< for the records of steps
  size_t jobs = 1;
  int64_t cores = 1;  ///< that a step has which is alone
  /// The words to start a command with again after it was interrupted: others than these if it can go on.
  std::function<Words(const Words& words)> words_again;
};

/// What happens, for those who show it.
class RunnerEvents {
 public:
  virtual ~RunnerEvents() = default;
  virtual void started(size_t step, const std::string& command, bool goes_on) = 0;
  virtual void done(size_t step) = 0;
  virtual void failed(size_t step) = 0;
  virtual void tick() = 0;  ///< about once a second
};

/// For one run() in one thread, which has to live as long.
class Runner {
 public:
  /// All references have to outlive it. Statuses and results are kept up to date.
  Runner(const StepGraph& graph, Resolver& resolver, StepStatuses& statuses, Results& results,
         RunnerOptions options, RunnerEvents& events);
  ~Runner();

  /// Until nothing is left to do, or a signal asked to stop and the processes, to which it is passed on, have
  /// ended. False if it was stopped.
  bool run();

 private:
  struct Running;

  void start_what_is_ready();
  void start(size_t step);
  void take(const SignalInbox::Message& message);
  void look_after_ended();
  void end(const Running& running);
  void count_seconds();

  const StepGraph& graph_;
  Resolver& resolver_;
  StepStatuses& statuses_;
  Results& results_;
  RunnerOptions options_;
  RunnerEvents& events_;
  SignalInbox inbox_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Running>> running_;
};

/// The result of a finished step as its record says.
StepResult result_of(const ResolvedStep& step, const StepRecord& record);

}  // namespace lact::reproduce
