#include "lact/parallel/job.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "lact/base/format.h"
#include "lact/base/log.h"

namespace lact::parallel {

namespace {

/// How work ends that was asked to stop and did so cleanly, whichever signal it was.
constexpr int kStoppedCleanly = 128 + SIGINT;

SignalInbox::Clock::time_point seconds_from_now(double seconds) {
  using std::chrono::duration;
  return SignalInbox::Clock::now() +
         std::chrono::ceil<SignalInbox::Clock::duration>(duration<double>(seconds));
}

/// Rank 0 may have left a line of progress on the terminal that we write to as well.
void clear_progress_line() {
  if (isatty(STDERR_FILENO) == 1) std::cerr << "\r\x1b[K" << std::flush;
}

}  // namespace

Job::Job(const std::vector<ProcessCommand>& commands, int64_t first_rank, double grace, SignalInbox& inbox)
    : known_ended_(commands.size(), false), first_rank_(first_rank), grace_(grace), inbox_(inbox) {
  for (const ProcessCommand& command : commands) ranks_.push_back(std::make_unique<StartedProcess>(command));
  // What the terminal sent in the meantime has not reached those that did not exist yet.
  for (auto message : inbox_.wait(SignalInbox::Clock::now())) {
    message.from_terminal = false;
    take(message);
  }
}

Job::Outcome Job::run() {
  for (look_after_ended(); any_running(); look_after_ended()) {
    // What was asked comes before what became of it: an end that was asked for is no failure.
    for (const auto& message : inbox_.wait(deadline_)) take(message);
    if (deadline_ && SignalInbox::Clock::now() >= *deadline_) press_on();
  }
  return outcome_;
}

bool Job::any_running() const { return std::count(known_ended_.begin(), known_ended_.end(), false) > 0; }

void Job::take(const SignalInbox::Message& message) {
  if (message.signal == SIGCHLD) return;  // it has woken us
  outcome_.interrupted = true;
  passed_on_.push_back(message.signal);
  // The terminal has sent it to all of us; a second one would end a rank that is about to stop cleanly.
  if (!message.from_terminal) send_to_all(message.signal);
}

void Job::look_after_ended() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (known_ended_[i] || !ranks_[i]->has_ended()) continue;
    known_ended_[i] = true;
    const int exit_code = ranks_[i]->exit_code();
    if (exit_code == 0 || outcome_.failed) continue;
    if (outcome_.exit_code == 0) outcome_.exit_code = exit_code;
    if (outcome_.interrupted && stopped_as_asked(exit_code)) continue;
    outcome_.failed = true;
    outcome_.exit_code = exit_code;
    deadline_ = seconds_from_now(grace_);
    report_failure(i);
  }
}

bool Job::stopped_as_asked(int exit_code) const {
  return exit_code == kStoppedCleanly || std::any_of(passed_on_.begin(), passed_on_.end(),
                                                     [=](int signal) { return exit_code == 128 + signal; });
}

void Job::report_failure(size_t index) const {
  const StartedProcess& rank = *ranks_[index];
  const int64_t number = first_rank_ + int64_t(index);
  const std::string words = rank.last_words();
  const auto running = std::count(known_ended_.begin(), known_ended_.end(), false);
  clear_progress_line();
  log::error("rank {} {}{}{}", number, rank.ending(),
             running == 0 ? "" : fmt::format("; the others have {} to end", format_duration(grace_)),
             words.empty() ? "" : "; its log ends with: " + words);
}

void Job::press_on() {
  send_to_all(pressure_);
  // One that is stuck in the kernel takes its time even then.
  deadline_ = seconds_from_now(pressure_ == SIGKILL ? 1 : grace_);
  pressure_ = SIGKILL;
}

void Job::send_to_all(int signal) const {
  for (const auto& rank : ranks_) rank->send(signal);
}

}  // namespace lact::parallel
