#include "lact/reproduce/runner.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/one_sentence.h"

namespace lact::reproduce {

namespace {

using Clock = SignalInbox::Clock;
constexpr std::chrono::seconds kTick(1), kRememberInterval(30);

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

struct Runner::Running {
  size_t step;
  const ResolvedStep& resolved;
  double seconds_before;
  Clock::time_point begin, remembered;
  StartedProcess process;

  Running(size_t number, const ResolvedStep& what, double before, const ProcessCommand& command)
      : step(number),
        resolved(what),
        seconds_before(before),
        begin(Clock::now()),
        remembered(begin),
        process(command) {}

  double seconds() const { return seconds_before + seconds_since(begin); }
};

Runner::Runner(const StepGraph& graph, Resolver& resolver, StepStatuses& statuses, Results& results,
               RunnerOptions options, RunnerEvents& events)
    : graph_(graph),
      resolver_(resolver),
      statuses_(statuses),
      results_(results),
      options_(std::move(options)),
      events_(events),
      inbox_({SIGCHLD, SIGINT, SIGTERM, SIGHUP}) {}

Runner::~Runner() = default;

bool Runner::run() {
  while (true) {
    if (!stopping_) start_what_is_ready();
    // What the terminal sent in the meantime has not reached those that did not exist yet.
    for (auto message : inbox_.wait(Clock::now())) {
      message.from_terminal = false;
      take(message);
    }
    if (running_.empty()) break;
    events_.tick();
    // What was asked comes before what became of it: an end that was asked for is no failure.
    for (const auto& message : inbox_.wait(Clock::now() + kTick)) take(message);
    count_seconds();
    look_after_ended();
  }
  events_.tick();
  return !stopping_;
}

void Runner::start_what_is_ready() {
  while (const auto step = next_step(graph_, statuses_, options_.jobs)) {
    try {
      start(*step);
    } catch (const std::exception& error) {
      fail_step(graph_, statuses_, *step,
                fmt::format("step {} cannot be run: {}", graph_.step(*step).id, one_sentence(error)));
      events_.failed(*step);
    }
  }
}

void Runner::start(size_t step) {
  const ResolvedStep* resolved = resolver_.resolve(step, results_);
  LACT_ASSERT(resolved != nullptr);
  const StepFolder& folder = resolved->folder;
  // A step that chose its words may turn out to be one that was done before.
  if (const auto record = folder.finished()) {
    statuses_[step] = {.state = StepState::done, .seconds = record->seconds, .cached = true, .failure = {}};
    results_.add(graph_.step(step).id, result_of(*resolved, *record));
    return events_.done(step);
  }
  folder.create();  // the words are checked, and files can only be written into a folder that is there
  Words words = options_.words_again ? options_.words_again(resolved->words) : resolved->words;
  const bool goes_on = words != resolved->words;
  if (!goes_on) {
    folder.clear();
    folder.create();
  }
  const double before = goes_on ? folder.seconds_before() : 0;
  words.insert(words.begin(), "lact");
  ProcessCommand command = {.program = options_.program,
                            .words = words,
                            .variables = {},
                            .log = folder.file(kLogFile),
                            .output = folder.file(kOutputFile)};
  if (!graph_.step(step).alone) command.variables.push_back("OMP_NUM_THREADS=1");
  running_.push_back(std::make_unique<Running>(step, *resolved, before, command));
  statuses_[step].state = StepState::running;
  statuses_[step].seconds = before;
  events_.started(step, resolved->command(), goes_on);
}

void Runner::take(const SignalInbox::Message& message) {
  if (message.signal == SIGCHLD) return;  // it has woken us
  stopping_ = true;
  // The terminal has sent it to all of us; a second one would end a training that is about to stop cleanly.
  if (message.from_terminal) return;
  for (const auto& running : running_) running->process.send(message.signal);
}

void Runner::count_seconds() {
  for (auto& running : running_) {
    statuses_[running->step].seconds = running->seconds();
    if (Clock::now() - running->remembered < kRememberInterval) continue;
    running->remembered = Clock::now();
    running->resolved.folder.remember_seconds(running->seconds());
  }
}

void Runner::look_after_ended() {
  for (size_t i = 0; i < running_.size();) {
    if (!running_[i]->process.has_ended()) {
      ++i;
      continue;
    }
    const auto ended = std::move(running_[i]);
    running_.erase(running_.begin() + std::ptrdiff_t(i));
    end(*ended);
  }
}

void Runner::end(const Running& running) {
  const size_t step = running.step;
  const Step& own = graph_.step(step);
  const StepFolder& folder = running.resolved.folder;
  const StartedProcess& process = running.process;
  StepStatus& status = statuses_[step];
  status.seconds = running.seconds();
  if (process.exit_code() == 0) {
    const StepRecord record = {.id = own.id,
                               .label = own.label,
                               .command = running.resolved.command(),
                               .machine = options_.machine,
                               .words = running.resolved.words,
                               .seconds = status.seconds,
                               .cores = own.alone ? options_.cores : 1,
                               .exit_code = 0};
    folder.finish(record);
    status.state = StepState::done;
    results_.add(own.id, result_of(running.resolved, record));
    return events_.done(step);
  }
  folder.remember_seconds(status.seconds);
  if (stopping_) {  // whatever it ended with: it is done again, or goes on
    status.state = StepState::waiting;
    return;
  }
  const std::string words = process.last_words();
  fail_step(graph_, statuses_, step,
            fmt::format("step {} {}{}; its log is {}", own.id, process.ending(),
                        words.empty() ? "" : ": " + words, folder.file(kLogFile)));
  events_.failed(step);
}

StepResult result_of(const ResolvedStep& step, const StepRecord& record) {
  return {step.folder.path(), record.command, record.seconds, record.machine};
}

}  // namespace lact::reproduce
